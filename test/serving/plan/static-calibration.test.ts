import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  calibrationFile,
  staticCalibration,
} from '../../../src/serving/plan/static-calibration.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SUMMIT = { kind: 'folder', path: join('models', 'summit') } as const;
const TEXT = { folder: SUMMIT.path, vocabSize: 4096 };

test('--calibrate is for int8-static alone', () => {
  expect(calibrationFile(undefined, ['int8'], TEXT)).toBeNull();
  const file = { path: 'texts.txt', text: TEXT };
  expect(calibrationFile('texts.txt', ['int8', 'int8-static'], TEXT)).toEqual(file);
  expect(() => calibrationFile('texts.txt', ['int8', 'fp32'], TEXT)).toThrow(
    '--calibrate is for --precision int8-static, not for int8, fp32',
  );
});

test("texts of a file are told apart from others, and from the model's own", async () => {
  const cacheDirectory = await temporaryDirectory();
  const path = join(cacheDirectory, 'texts.txt');
  const keyOf = async (content: string | null) => {
    if (content !== null) await writeFile(path, content);
    const file = content === null ? null : { path, text: TEXT };
    return (await staticCalibration(SUMMIT, { cacheDirectory }, file)).key;
  };
  const keys = [await keyOf(null), await keyOf('One text.'), await keyOf('Another text.')];
  expect(new Set(keys).size).toBe(3);
  expect(await keyOf('One text.')).toBe(keys[1]);
});

test('a file that is not there is named with its flag', async () => {
  const cacheDirectory = await temporaryDirectory();
  const file = { path: 'no/texts.txt', text: TEXT };
  await expect(staticCalibration(SUMMIT, { cacheDirectory }, file)).rejects.toThrow(
    '--calibrate no/texts.txt: no such file or folder',
  );
});
