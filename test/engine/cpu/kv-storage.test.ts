/** The memory of a KV cache whose layers have different heads: nothing of a layer is another's. */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { KvStorage } from '../../../src/engine/cpu/kv-storage.ts';
import { BLOCK_SIZE } from '../../../src/engine/kv-cache/prefix-index.ts';
import { bytesOfPositions, type KvShape, kvShape } from '../../../src/engine/kv-shape.ts';

const NUM_SLOTS = 3;

const shapes = fc
  .array(
    fc.record({
      numKvHeads: fc.integer({ min: 1, max: 4 }),
      headDim: fc.constantFrom(16, 32, 64),
      window: fc.constantFrom(null, 16),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((layers) => {
    const [first = { numKvHeads: 1, headDim: 16 }] = layers;
    const manifest = {
      kernels: 'onnxruntime',
      kvCacheDtype: 'float32',
      numLayers: layers.length,
      numKvHeads: first.numKvHeads,
      headDim: first.headDim,
      layerHeads: layers,
      slidingWindows: layers.map(({ window }) => window),
    } as const;
    return kvShape(manifest, NUM_SLOTS, 100);
  });

/** Gives every tensor of a storage numbers of its own. */
function fill(storage: KvStorage): void {
  for (const [index, tensor] of storage.view(0, NUM_SLOTS).entries()) {
    const { data } = tensor;
    if (!(data instanceof Float32Array)) throw new TypeError('floats');
    data.forEach((_, at) => (data[at] = index * 2 ** 20 + at));
    tensor.release();
  }
}

function contents(storage: KvStorage, slot: number): Float32Array[] {
  return storage.view(slot, 1).map((tensor) => {
    const values = Float32Array.from(tensor.data as Float32Array);
    tensor.release();
    return values;
  });
}

const digest = (values: Float32Array) =>
  createHash('sha1')
    .update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
    .digest('hex');

/** By tensor and head, a digest of positions of a slot; where told, of as many zeros. */
function positions(
  { heads, capacity }: KvShape,
  all: readonly Float32Array[],
  [from, end]: readonly [from: number, end: number],
  isVoid: (layer: number) => boolean = () => false,
) {
  return all.map((values, index) => {
    const { numKvHeads, headDim } = heads[index >> 1] ?? { numKvHeads: 0, headDim: 0 };
    const ofHeads = Array.from({ length: numKvHeads }, (_, head) => head * capacity * headDim);
    return ofHeads.map((start) => {
      const kept = values.slice(start + from * headDim, start + end * headDim);
      return digest(isVoid(index >> 1) ? kept.fill(0) : kept);
    });
  });
}

it('what is copied, read and loaded is the same in every layer, and no other slot changes', () => {
  fc.assert(
    fc.property(shapes, fc.nat(2), fc.integer({ min: 1, max: 4 }), (shape, before, blocks) => {
      const storage = new KvStorage(shape);
      try {
        fill(storage);
        const start = before * BLOCK_SIZE;
        const length = blocks * BLOCK_SIZE;
        const range = [start, start + length] as const;
        const all = [0, shape.capacity] as const;
        const [source, other] = [contents(storage, 0), contents(storage, 1)];

        storage.apply({ type: 'copy', from: 0, to: 2, length });
        expect(positions(shape, contents(storage, 2), [0, length])).toEqual(
          positions(shape, source, [0, length]),
        );

        const bytes = storage.read(0, start, length);
        expect(bytes.byteLength).toBe(bytesOfPositions(shape, length));
        storage.apply({ type: 'discard', slot: 2, start: 0, end: shape.capacity });
        const voided = positions(shape, source, all, () => true);
        expect(positions(shape, contents(storage, 2), all)).toEqual(voided);
        storage.apply({ type: 'load', slot: 2, start, blocks: [bytes] });
        expect(positions(shape, contents(storage, 2), range)).toEqual(
          positions(shape, source, range),
        );
        expect(positions(shape, contents(storage, 2), [0, start])).toEqual(
          positions(shape, source, [0, start], () => true),
        );
        expect(contents(storage, 0).map(digest)).toEqual(source.map(digest));
        expect(contents(storage, 1).map(digest)).toEqual(other.map(digest));
      } finally {
        storage.release();
      }
    }),
    { numRuns: 12 },
  );
});

it('what goes back behind windows is of the layers that have one alone', () => {
  fc.assert(
    fc.property(shapes, (shape) => {
      const storage = new KvStorage(shape);
      try {
        fill(storage);
        const before = contents(storage, 1);
        const end = shape.pageLength;
        storage.apply({ type: 'discard', slot: 1, start: 0, end, isWindowed: true });
        const isVoid = (layer: number) => shape.isWindowed[layer] === true;
        const expected = positions(shape, before, [0, end], isVoid);
        expect(positions(shape, contents(storage, 1), [0, end])).toEqual(expected);
      } finally {
        storage.release();
      }
    }),
    { numRuns: 12 },
  );
});
