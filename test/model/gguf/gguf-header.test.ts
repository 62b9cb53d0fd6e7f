import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type GgufHeader,
  parseGgufHeader,
  readGgufHeader,
} from '../../../src/model/gguf/gguf-header.ts';
import { NeedsMoreBytes } from '../../../src/model/gguf/header-cursor.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import {
  bool,
  float,
  float32s,
  float32Tensor,
  ggufBytes,
  int32s,
  type Tensor,
  text,
  texts,
  uint,
} from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const METADATA = {
  'general.architecture': text('llama'),
  'a.number': uint(4_000_000_000),
  'a.fraction': float(0.5),
  'a.flag': bool(true),
  'a.texts': texts(['', 'über', '▁x']),
  'some.ids': int32s([-1, 2]),
  'some.scores': float32s([0.25, -3]),
};
const MATRIX = float32Tensor('m', [2, 3], Float32Array.from([1, 2, 3, 4, 5, 6]));
const Q8: Tensor = { name: 'q', shape: [2, 64], type: 8, bytes: new Uint8Array(4 * 34) };

const parse = (bytes: Buffer) => parseGgufHeader(bytes, bytes.length, 'x.gguf');

test('metadata of all kinds, and places of tensors', () => {
  const bytes = ggufBytes(METADATA, [MATRIX, Q8]);
  const { metadata, tensors } = parse(bytes);

  expect(metadata.string('general.architecture')).toBe('llama');
  expect(metadata.number('a.number')).toBe(4_000_000_000);
  expect(metadata.number('a.fraction')).toBe(0.5);
  expect(metadata.boolean('a.flag')).toBe(true);
  expect(metadata.strings('a.texts')).toEqual(['', 'über', '▁x']);
  expect(metadata.numbers('some.ids')).toEqual(Float64Array.of(-1, 2));
  expect(metadata.numbers('some.scores')).toEqual(Float64Array.of(0.25, -3));
  expect(metadata.string('nothing')).toBeUndefined();
  expect(tensors.get('m')).toMatchObject({ shape: [2, 3], byteLength: 24 });
  expect(tensors.get('q')).toMatchObject({ shape: [2, 64], type: { name: 'Q8_0' } });
  const at = tensors.get('m')?.offset ?? 0;
  expect(bytes.readFloatLE(at + 20)).toBe(6);
});

test('a value of another type than is asked for', () => {
  const { metadata } = parse(ggufBytes(METADATA));
  expect(() => metadata.number('a.texts')).toThrow('x.gguf: metadata "a.texts" is not a number');
  expect(() => metadata.strings('a.flag')).toThrow('is not a list of texts');
});

test('a header of several megabytes is read piece by piece', async () => {
  const path = join(await temporaryDirectory(), 'big.gguf');
  const words = Array.from({ length: 200_000 }, (_, index) => `a word of a vocabulary ${index}`);
  await writeFile(path, ggufBytes({ words: texts(words) }, [MATRIX]));
  const header = await read(path);
  expect(header.metadata.strings('words')?.at(-1)).toBe('a word of a vocabulary 199999');
  expect(header.tensors.get('m')?.byteLength).toBe(24);
});

async function read(path: string): Promise<GgufHeader> {
  const file = await open(path);
  try {
    return await readGgufHeader(file, path);
  } finally {
    await file.close();
  }
}

test('a cut header needs more bytes; a cut file is an error', () => {
  const bytes = ggufBytes(METADATA, [MATRIX]);
  for (let length = 0; length < 300; length++) {
    const start = bytes.subarray(0, length);
    expect(() => parseGgufHeader(start, bytes.length, 'x')).toThrow(NeedsMoreBytes);
    expect(() => parse(start)).toThrow(/x\.gguf is truncated or damaged: .* at byte \d+ takes/);
  }
  expect(() => parse(bytes.subarray(0, bytes.length - 30))).toThrow('tensor "m" ends at byte');
});

describe('refused', () => {
  /** With a number of 8 bytes at a place overwritten. */
  const with64 = (bytes: Buffer, at: number, value: bigint) => {
    bytes.writeBigUInt64LE(value, at);
    return bytes;
  };

  test.each([
    ['2^60 tensors', 8, 2n ** 60n, 'a table of 1152921504606847000 tensors at byte'],
    ['2^60 keys', 16, 2n ** 60n, 'metadata of 1152921504606847000 keys at byte 24'],
    ['a key of 2^63 bytes', 24, 2n ** 63n, 'a metadata key at byte 32'],
  ])('%s', (_, at, value, message) => {
    expect(() => parse(with64(ggufBytes(METADATA, [MATRIX]), at, value))).toThrow(message);
  });

  test('a list of 2^50 numbers', () => {
    const bytes = ggufBytes({ list: int32s([1, 2]) }, [MATRIX]);
    // After the head, the key with its length, and the types of the value and of its elements.
    expect(() => parse(with64(bytes, 24 + 12 + 8, 2n ** 50n))).toThrow(
      '"list" at byte 52 takes 4503599627370496 bytes or more',
    );
  });

  test('other formats and versions', () => {
    expect(() => parse(Buffer.from('PK\x03\x04 and more of it'))).toThrow(
      'x.gguf is not a GGUF file',
    );
    const bytes = ggufBytes(METADATA);
    bytes.writeUInt32LE(1, 4);
    expect(() => parse(bytes)).toThrow('x.gguf has GGUF version 1 (supported: 2, 3)');
    bytes.writeUInt32BE(3, 4);
    expect(() => parse(bytes)).toThrow('big-endian');
  });

  test.each([
    [15, 'Q8_K'],
    [40, 'NVFP4'],
    [99, 'number 99'],
  ])('tensor type %i by its name, %s', (type, name) => {
    expect(() => parse(ggufBytes({}, [{ ...Q8, type }]))).toThrow(
      `x.gguf: tensor "q" has type ${name}, which is not supported (supported: F32, F16,`,
    );
  });

  test('tensor types that llama.cpp removed, and what to take', () => {
    expect(() => parse(ggufBytes({}, [{ ...Q8, type: 31 }]))).toThrow(
      'tensor "q" has type Q4_0_4_4, which llama.cpp removed from the format: take a newer file',
    );
  });

  test('rows that are not whole blocks', () => {
    expect(() => parse(ggufBytes({}, [{ ...Q8, shape: [4, 33] }]))).toThrow(
      `tensor "q" has the shape [4, 33], which Q8_0 can't have: its rows are blocks of 32`,
    );
  });

  test('tensors that overlap, or have one name', () => {
    const large = { ...Q8, shape: [8, 64] };
    const rest = float32Tensor('rest', [256], new Float32Array(256));
    expect(() => parse(ggufBytes({}, [large, MATRIX, rest]))).toThrow(
      'tensors "q" and "m" overlap',
    );
    expect(() => parse(ggufBytes({}, [MATRIX, MATRIX]))).toThrow('the tensor "m" twice');
  });

  test('a shape beyond all memory', () => {
    const huge = { ...Q8, shape: [2 ** 40, 2 ** 40] };
    expect(() => parse(ggufBytes({}, [huge]))).toThrow(ModelError);
  });

  test('a foolish alignment', () => {
    expect(() => parse(ggufBytes({ 'general.alignment': uint(0) }))).toThrow('a power of 2');
    expect(() => parse(ggufBytes({ 'general.alignment': uint(2 ** 31) }))).toThrow('a power of 2');
  });
});
