import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';

import { ModelError } from '../../../src/model/model-error.ts';
import {
  SafetensorsWeights,
  SHARD_INDEX,
  weightFiles,
} from '../../../src/model/huggingface/safetensors.ts';
import { floatTensor, writeSafetensors, type Header } from '../../support/safetensors-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FIRST = Float32Array.of(1, -2, 3, 4, 5, 6);
const SECOND = Float32Array.of(7, 8);
const TENSORS = { first: floatTensor([2, 3], FIRST), second: floatTensor([2], SECOND) };

async function openWeights(...paths: string[]): Promise<SafetensorsWeights> {
  const weights = await SafetensorsWeights.open(paths);
  onTestFinished(() => weights.close());
  return weights;
}

const bytesOfBits = (...bits: number[]): Uint8Array =>
  new Uint8Array(Uint16Array.from(bits).buffer);

test('tensors are read by name', async () => {
  const path = join(await temporaryDirectory(), 'model.safetensors');
  await writeSafetensors(path, TENSORS, (header) => ({
    __metadata__: { format: 'pt' },
    ...header,
  }));
  const weights = await openWeights(path);
  expect(await weights.get('first', [2, 3])).toEqual(FIRST);
  expect(await weights.get('second', [2])).toEqual(SECOND);
});

test('float16 and bfloat16 become float32', async () => {
  const path = join(await temporaryDirectory(), 'model.safetensors');
  await writeSafetensors(path, {
    half: { dtype: 'F16', shape: [3], bytes: bytesOfBits(0x3c00, 0xc000, 0x0001) },
    brain: { dtype: 'BF16', shape: [3], bytes: bytesOfBits(0x3f80, 0xc000, 0x4049) },
  });
  const weights = await openWeights(path);
  expect(await weights.get('half', [3])).toEqual(Float32Array.of(1, -2, 2 ** -24));
  expect(await weights.get('brain', [3])).toEqual(Float32Array.of(1, -2, 3.140625));
});

test('a tensor that takes several reads is complete', async () => {
  const path = join(await temporaryDirectory(), 'model.safetensors');
  const values = Float32Array.from({ length: 5_000_001 }, (_, i) => i);
  await writeSafetensors(path, { small: TENSORS.second, big: floatTensor([5_000_001], values) });
  const weights = await openWeights(path);
  expect(Buffer.compare(await bytesOf(weights, 'big', [5_000_001]), asBytes(values))).toBe(0);
});

async function bytesOf(weights: SafetensorsWeights, name: string, shape: number[]) {
  return asBytes(await weights.get(name, shape));
}

function asBytes(values: Float32Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}

test('shards give what a single file gives, however the tensors are spread', async () => {
  const folder = await temporaryDirectory();
  const anyTensors = fc.array(
    fc.record({
      values: fc.float32Array({ maxLength: 20, noNaN: true, noDefaultInfinity: true }),
      shard: fc.nat(2),
    }),
    { minLength: 1, maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(anyTensors, async (items) => {
      const tensors = items.map(
        ({ values }, i) => [`t${i}`, floatTensor([values.length], values)] as const,
      );
      await writeSafetensors(join(folder, 'single.safetensors'), Object.fromEntries(tensors));
      const fileOf = (i: number) => `shard-${items[i]?.shard}.safetensors`;
      const map = Object.fromEntries(tensors.map(([name], i) => [name, fileOf(i)]));
      for (const file of new Set(Object.values(map))) {
        const own = tensors.filter((_, i) => fileOf(i) === file);
        await writeSafetensors(join(folder, file), Object.fromEntries(own));
      }
      await writeFile(join(folder, SHARD_INDEX), JSON.stringify({ metadata: {}, weight_map: map }));

      const single = await SafetensorsWeights.open([join(folder, 'single.safetensors')]);
      const sharded = await SafetensorsWeights.open(await weightFiles(folder, [SHARD_INDEX]));
      for (const [name, { shape, bytes }] of tensors) {
        const expected = await bytesOf(single, name, [...shape]);
        expect(expected).toEqual(Buffer.from(bytes));
        expect(await bytesOf(sharded, name, [...shape])).toEqual(expected);
      }
      await Promise.all([single.close(), sharded.close()]);
    }),
    { numRuns: 30 },
  );
});

test('an index cannot name a file outside its folder', async () => {
  const folder = await temporaryDirectory();
  const index = join(folder, SHARD_INDEX);
  await writeFile(index, JSON.stringify({ weight_map: { a: '../secret.safetensors' } }));
  const files = () => weightFiles(folder, [SHARD_INDEX]);
  await expect(files()).rejects.toThrow('names "../secret.safetensors"');
  await writeFile(index, '{}');
  await expect(files()).rejects.toThrow('has no "weight_map"');
});

/** Opens a damaged file; returns the error's message, with FILE for the file's path. */
async function openDamaged(damage: (path: string) => Promise<void>): Promise<string> {
  const path = join(await temporaryDirectory(), 'model.safetensors');
  await damage(path);
  const error: unknown = await openWeights(path).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ModelError);
  const message = error instanceof Error ? error.message : '';
  expect(message).toContain(path);
  return message.replace(path, 'FILE');
}

const openEdited = (edit: (header: Header) => unknown): Promise<string> =>
  openDamaged((path) => writeSafetensors(path, TENSORS, edit));

const editSecond = (change: object): Promise<string> =>
  openEdited((header) => ({ ...header, second: { ...header['second'], ...change } }));

describe('a damaged file is refused by its name', () => {
  test('it is missing', async () => {
    expect(await openDamaged(async () => undefined)).toBe('FILE cannot be opened');
  });

  test('it is almost empty', async () => {
    expect(await openDamaged((path) => writeFile(path, Buffer.alloc(3)))).toContain(
      'it has only 3 bytes',
    );
  });

  test('it is something else', async () => {
    expect(await openDamaged((path) => writeFile(path, Buffer.alloc(20, 0xff)))).toContain(
      'FILE is not a safetensors file: its header length is',
    );
  });

  test('it is a text', async () => {
    expect(await openDamaged((path) => writeFile(path, 'Not found'))).toBe(
      'FILE is a text, not the file itself: "Not found"',
    );
  });

  test('its data is truncated', async () => {
    const message = await openDamaged(async (path) => {
      await writeSafetensors(path, TENSORS);
      await truncate(path, 8 + 130);
    });
    expect(message).toMatch(/tensor "(first|second)" ends at byte \d+, but the file has 138/);
  });

  test('its header is truncated', async () => {
    const message = await openDamaged(async (path) => {
      await writeSafetensors(path, TENSORS);
      await truncate(path, 40);
    });
    expect(message).toContain('FILE is truncated: its header takes');
  });

  test('its header is not JSON', async () => {
    expect(await openEdited(() => '{"first": ')).toContain('header is not JSON');
    expect(await openEdited(() => '[]')).toContain('header is not a JSON object');
  });

  test('spans overlap', async () => {
    expect(await editSecond({ data_offsets: [20, 28] })).toBe(
      'FILE: tensors "first" and "second" overlap',
    );
  });

  test('a shape does not fit its span', async () => {
    expect(await editSecond({ shape: [3] })).toBe(
      'FILE: tensor "second" spans 8 bytes, but F32 [3] takes 12',
    );
  });

  test('a span is no span', async () => {
    const noSpan = 'FILE: tensor "second" has no valid dtype, shape and data_offsets';
    expect(await editSecond({ data_offsets: [24] })).toBe(noSpan);
    expect(await editSecond({ data_offsets: [-8, 0] })).toBe(noSpan);
    expect(await editSecond({ data_offsets: [24, 32.5] })).toBe(noSpan);
    expect(await editSecond({ data_offsets: [32, 24] })).toContain('"second" spans -8 bytes');
  });

  test('a type is unknown', async () => {
    expect(await editSecond({ dtype: 'F7' })).toBe(
      'FILE: tensor "second" has the unknown dtype "F7"',
    );
  });

  test('a tensor is in two files', async () => {
    const folder = await temporaryDirectory();
    const paths = ['a.safetensors', 'b.safetensors'].map((name) => join(folder, name));
    for (const path of paths) {
      await writeSafetensors(path, TENSORS);
    }
    await expect(openWeights(...paths)).rejects.toThrow(`tensor "first" is in both ${paths[0]}`);
  });
});

async function openFloatsAndInts(): Promise<[SafetensorsWeights, string]> {
  const path = join(await temporaryDirectory(), 'model.safetensors');
  const whole = { dtype: 'I32', shape: [1], bytes: new Uint8Array(4) };
  await writeSafetensors(path, { ...TENSORS, whole });
  return [await openWeights(path), path];
}

describe('a tensor that does not fit is refused by its name', () => {
  test('missing', async () => {
    const [weights, path] = await openFloatsAndInts();
    await expect(weights.get('third', [1])).rejects.toThrow(
      new ModelError(`tensor "third" is missing from ${path}`),
    );
  });

  test('another shape', async () => {
    const [weights, path] = await openFloatsAndInts();
    await expect(weights.get('first', [3, 2])).rejects.toThrow(
      new ModelError(`${path}: tensor "first" has shape [2, 3], expected [3, 2]`),
    );
  });

  test('not a float', async () => {
    const [weights, path] = await openFloatsAndInts();
    await expect(weights.get('whole', [1])).rejects.toThrow(
      new ModelError(`${path}: tensor "whole" has dtype I32, supported: F32, F16, BF16`),
    );
  });
});
