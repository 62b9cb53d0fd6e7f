import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { staticCalibration } from '../../src/serving/plan/static-calibration.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const SUMMIT = { kind: 'folder', path: join('models', 'summit') } as const;
const TEXT = { folder: SUMMIT.path, vocabSize: 4096 };

test('texts of a file calibrate a model, once', async () => {
  const cacheDirectory = await temporaryDirectory();
  const path = join(cacheDirectory, 'texts.jsonl');
  const lines = ['The lift goes up the hill.', 'Snow fell on the summit all night.'];
  await writeFile(path, lines.map((text) => JSON.stringify({ text })).join('\n'));
  const { find } = await staticCalibration(SUMMIT, { cacheDirectory }, { path, text: TEXT });
  const found = find();
  expect(find()).toBe(found);
  const { steps } = await found;
  expect(steps.size).toBeGreaterThan(12);
  expect([...steps.values()].every((step) => step > 0)).toBe(true);

  await writeFile(path, '');
  const { find: findAgain } = await staticCalibration(
    SUMMIT,
    { cacheDirectory },
    { path, text: TEXT },
  );
  await expect(findAgain()).rejects.toThrow('is empty');
});
