import { mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { errorLine } from '../../src/cli/terminal/error-line.ts';
import { readNamed } from '../../src/files/named-files.ts';
import { isFileError, meaningOf, reasonOf } from '../../src/files/system-error.ts';
import { ModelError } from '../../src/model/model-error.ts';
import { UserError } from '../../src/user-error.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

async function thrownBy(action: () => Promise<unknown>): Promise<unknown> {
  return action().then(
    () => expect.unreachable('it should fail'),
    (error: unknown) => error,
  );
}

test('what the system refuses is one line: what was done, to which file, and why', async () => {
  const folder = await temporaryDirectory();
  const file = join(folder, 'file');
  const none = join(folder, 'none');
  await writeFile(file, '');
  const lines: [action: () => Promise<unknown>, line: string][] = [
    [() => open(none), `cannot open ${none}: no such file or folder`],
    [() => open(folder, 'w'), `cannot open ${folder}: it is a folder, not a file`],
    [() => readFile(folder), 'cannot read: it is a folder, not a file'],
    [
      () => readdir(file),
      `cannot list the folder ${file}: a part of its path is a file, not a folder`,
    ],
    [() => mkdir(file), `cannot make the folder ${file}: a file is in the way of the folder`],
    [() => mkdir(join(none, 'a')), `cannot make the folder ${none}/a: no folder can be made there`],
  ];
  for (const [action, line] of lines) {
    const error = await thrownBy(action);
    expect(errorLine(error)).toBe(line);
    expect(reasonOf(error)).toBe(line);
    expect(isFileError(error)).toBe(true);
  }
});

test.runIf(process.platform === 'linux')('a full disk is one', async () => {
  const error = await thrownBy(() => writeFile('/dev/full', 'text'));
  expect(errorLine(error)).toBe('cannot write: the disk is full');
});

test('a refused connection is one, and no error of a file', async () => {
  const [error] = await once(connect(1, '127.0.0.1'), 'error').catch((thrown: unknown) => [thrown]);
  expect(errorLine(error)).toBe('connect ECONNREFUSED 127.0.0.1:1');
  expect(isFileError(error)).toBe(false);
});

test('codes without words keep their message', () => {
  const error = Object.assign(new Error('EWHAT: of it'), { code: 'EWHAT', syscall: 'open' });
  expect(meaningOf(error)).toBe('EWHAT: of it');
});

test('what a person can mend is one line; a fault of the program keeps its stack', () => {
  expect(errorLine(new UserError('give --data'))).toBe('give --data');
  expect(errorLine(new ModelError('no weights'))).toBe('no weights');
  expect(new ModelError('no weights').name).toBe('ModelError');
  expect(errorLine(new TypeError('x is not a function'))).toBeNull();
  expect(errorLine('text')).toBeNull();
});

test('a file that a person named is named with its flag', async () => {
  const folder = await temporaryDirectory();
  await expect(readNamed('--slo', join(folder, 'none'))).rejects.toThrow(
    `--slo ${folder}/none: no such file or folder`,
  );
  await expect(readNamed('--slo', folder)).rejects.toThrow(
    `--slo ${folder}: it is a folder, not a file`,
  );
});

test('a message that quotes half a character can be told', () => {
  const half = new SyntaxError("Unexpected token '\ud83d'");
  expect(reasonOf(half)).toBe("Unexpected token '\ufffd'");
  expect(meaningOf(half)).toBe("Unexpected token '\ufffd'");
});
