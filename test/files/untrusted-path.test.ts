import { posix, relative, sep, win32 } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinUntrusted, UntrustedPathError } from '../../src/files/untrusted-path.ts';

const FOLDER = '/cache/hub/owner--name';

const join = (path: string) => joinUntrusted(FOLDER, path, 'owner/name');

test.each([
  'config.json',
  'onnx/model_q4.onnx_data_1',
  'model-00001-of-00002.safetensors',
  'a b/ü/模型.onnx',
  '.gitattributes',
  'console/nullable.json',
  '...rest',
])('takes %s', (path) => {
  expect(relative(FOLDER, join(path)).replaceAll(sep, '/')).toBe(path);
});

test.each([
  ['../x', 'it leads out of its folder'],
  ['onnx/../../x', 'it leads out of its folder'],
  ['onnx/..', 'it leads out of its folder'],
  ['..', 'it leads out of its folder'],
  ['..\\x', 'it leads out of its folder'],
  ['/etc/passwd', 'it is not relative'],
  ['\\\\host\\share', 'it is not relative'],
  ['C:x', 'it is not relative'],
  ['c:/x', 'it is not relative'],
  ['', 'a part of it is empty'],
  ['.', 'a part of it is empty'],
  ['a//b', 'a part of it is empty'],
  ['a/', 'a part of it is empty'],
  ['a/./b', 'a part of it is empty'],
  ['a\\b', 'a character that file names cannot have'],
  ['model.onnx:stream', 'a character that file names cannot have'],
  ['*/_ORT_MEM_ADDR_/*', 'a character that file names cannot have'],
  ['a\0b', 'a character that file names cannot have'],
  ['a\nb', 'a character that file names cannot have'],
  ['\ud800', 'a character that file names cannot have'],
  ['a/nul', 'it names a device'],
  ['COM1.json', 'it names a device'],
  ['x./y', 'ends in a dot or a space'],
  ['x ', 'ends in a dot or a space'],
  ['é'.repeat(128), 'longer than 255 bytes'],
  ['a/'.repeat(600), 'longer than 1024 characters'],
])('refuses %j', (path, reason) => {
  expect(() => join(path)).toThrow(UntrustedPathError);
  expect(() => join(path)).toThrow(reason);
});

test('its message has no control characters and an end', () => {
  const message = (path: string) => {
    try {
      return join(path);
    } catch (error) {
      return String(error);
    }
  };
  expect(message('\u001b[2Jx')).not.toMatch(/\p{Cc}/u);
  expect(message('a'.repeat(1e6)).length).toBeLessThan(300);
});

/** Pieces that paths are attacked with, put together at random. */
const pieces = fc.constantFrom(
  ...[
    '..',
    '.',
    '/',
    '\\',
    '\0',
    ':',
    'C:',
    '%2e%2e',
    'nul',
    'con',
    '~',
    ' ',
    'a',
    'é',
    '\n',
    '//',
  ],
);
const hostile = fc.oneof(
  fc
    .array(fc.oneof(pieces, fc.string({ unit: 'binary' })), { maxLength: 12 })
    .map((all) => all.join('')),
  fc.string({ unit: 'binary', maxLength: 300 }),
);

test('whatever is taken stays below its folder, on every system, and is the path given', () => {
  let taken = 0;
  fc.assert(
    fc.property(hostile, (path) => {
      let joined;
      try {
        joined = join(path);
      } catch (error) {
        return error instanceof UntrustedPathError;
      }
      taken++;
      // Each system's own view: what the name resolves to, seen from the folder, is the name.
      const unix = posix.relative('/root/x', posix.resolve('/root/x', path));
      const windows = win32.relative('C:\\root\\x', win32.resolve('C:\\root\\x', path));
      return joined.startsWith(FOLDER) && unix === path && windows === path.replaceAll('/', '\\');
    }),
    { numRuns: 20_000 },
  );
  expect(taken).toBeGreaterThan(500);
});
