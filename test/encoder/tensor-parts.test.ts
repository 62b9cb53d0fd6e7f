/** Tensors on their way to another process, in parts. */
import { describe, expect, it } from 'vitest';
import { inParts, PART_BYTES } from '../../src/encoder/process/tensor-parts.ts';
import { ReceivedTensors } from '../../src/encoder/process/received-tensors.ts';
import type { TensorValue } from '../../src/encoder/tensors/tensor.ts';

const bytes = (length: number) =>
  Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 7) % 251));

type Lists = readonly (readonly TensorValue[])[];

async function sent(lists: Lists) {
  const parted = inParts(lists);
  const received = new ReceivedTensors();
  const sizes: number[] = [];
  for (const part of parted?.parts ?? []) {
    sizes.push(part.bytes.length);
    received.add(structuredClone(part));
  }
  return { sizes, lists: await received.take(structuredClone(parted?.lists ?? [])) };
}

describe('tensors', () => {
  it('that are small go in one message', () => {
    const data = Float32Array.of(1);
    expect(inParts([[], [{ name: 'a', datatype: 'FP32', shape: [1], data }]])).toBeNull();
  });

  it('that are large go in parts of a bounded size, and arrive as they were', async () => {
    const texts = [...Array.from({ length: 9000 }, (_, at) => bytes(at % 5)), bytes(PART_BYTES)];
    const doubles = Float64Array.from({ length: 200_001 }, (_, at) => at / 3);
    const lists: Lists = [
      [
        { name: 'a', datatype: 'UINT8', shape: [3], data: Uint8Array.of(1, 2, 3) },
        { name: 'b', datatype: 'FP64', shape: [200_001], data: doubles },
        { name: 'none', datatype: 'FP64', shape: [0], data: new Float64Array() },
      ],
      [],
      [
        { name: 'c', datatype: 'BYTES', shape: [9001], data: texts },
        { name: 'd', datatype: 'INT64', shape: [1], data: BigInt64Array.of(-5n) },
        { name: 'e', datatype: 'UINT8', shape: [2 * PART_BYTES], data: bytes(2 * PART_BYTES) },
      ],
    ];
    const { sizes, lists: arrived } = await sent(lists);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(PART_BYTES);
    expect(sizes.length).toBeGreaterThan(5);
    const plain = (all: Lists) =>
      all.map((tensors) =>
        tensors.map(({ name, datatype, shape, data }) => [
          ...[name, datatype, shape],
          datatype === 'BYTES' ? data.map((text) => Buffer.from(text).toString('hex')) : [...data],
        ]),
      );
    expect(plain(arrived)).toEqual(plain(lists));
  });
});
