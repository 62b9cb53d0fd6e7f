import { afterAll, describe, expect, it } from 'vitest';
import { packSegments } from '../../../../src/engine/gpu/paged/paged-batch.ts';
import { segmentOf, tokenIdsOf } from '../../../../src/engine/step.ts';
import { PagedKvCache } from '../../../../src/engine/gpu/paged/paged-kv-cache.ts';
import { Sequence } from '../../../../src/engine/sequence.ts';
import { type RopeShape, rotaryTables, SCORE_SCALE } from '../../../../src/model/graph/rope.ts';
import { GraphBuilder, MICROSOFT_DOMAIN } from '../../../../src/onnx/graph-builder.ts';
import { IoBinding } from '../../../../src/ort/io-binding.ts';
import { Session } from '../../../../src/ort/session.ts';
import { Tensor } from '../../../../src/ort/tensor.ts';
import { engineRequest } from '../../../support/engine-requests.ts';
import { type AttentionShape, pagedAttention } from '../../../support/paged-attention-reference.ts';

const CAPACITY = 64;

function rotaryShape(headDim: number): RopeShape {
  return {
    headDim,
    rotaryDim: headDim,
    ropeTheta: 100,
    ropeScaling: { type: 'default' },
    attentionScale: headDim ** -0.5,
  };
}

/** GroupQueryAttention over one sequence of [1, seq, width], with a contiguous cache. */
function attentionGraph({ numHeads, numKvHeads, headDim }: AttentionShape): Uint8Array {
  const graph = new GraphBuilder('attention');
  const cacheDims = [1, numKvHeads, CAPACITY, headDim];
  const tables = rotaryTables(rotaryShape(headDim), CAPACITY);
  graph.input('qkv', 'float', [1, 'seq', (numHeads + 2 * numKvHeads) * headDim]);
  graph.input('past_key', 'float', cacheDims);
  graph.input('past_value', 'float', cacheDims);
  graph.input('seqlens_k', 'int32', [1]);
  graph.input('total', 'int32', []);
  graph.initializer('cos', 'float', [CAPACITY, headDim / 2], tables.cos);
  graph.initializer('sin', 'float', [CAPACITY, headDim / 2], tables.sin);
  graph.node(
    'attention',
    'GroupQueryAttention',
    ['qkv', '', '', 'past_key', 'past_value', 'seqlens_k', 'total', 'cos', 'sin'],
    {
      domain: MICROSOFT_DOMAIN,
      outputs: ['output', 'present_key', 'present_value'],
      attributes: {
        num_heads: BigInt(numHeads),
        kv_num_heads: BigInt(numKvHeads),
        do_rotary: 1n,
        scale: SCORE_SCALE,
      },
    },
  );
  graph.output('output', 'float', [1, 'seq', numHeads * headDim]);
  graph.output('present_key', 'float', cacheDims);
  graph.output('present_value', 'float', cacheDims);
  return graph.toBytes();
}

/** ONNX Runtime's own attention over one sequence, kept contiguous. */
class ContiguousAttention {
  readonly #session: Session;
  readonly #shape: AttentionShape;
  readonly #keys: Float32Array<ArrayBuffer>;
  readonly #values: Float32Array<ArrayBuffer>;

  constructor(session: Session, shape: AttentionShape) {
    this.#session = session;
    this.#shape = shape;
    const size = shape.numKvHeads * CAPACITY * shape.headDim;
    [this.#keys, this.#values] = [new Float32Array(size), new Float32Array(size)];
  }

  append(qkv: Float32Array<ArrayBuffer>, past: number): Float32Array {
    const { numHeads, numKvHeads, headDim } = this.#shape;
    const width = (numHeads + 2 * numKvHeads) * headDim;
    const length = qkv.length / width;
    const cacheDims = [1, numKvHeads, CAPACITY, headDim];
    const output = new Float32Array(length * numHeads * headDim);
    const keys = Tensor.over('float', cacheDims, this.#keys);
    const values = Tensor.over('float', cacheDims, this.#values);
    const inputs = {
      qkv: Tensor.over('float', [1, length, width], qkv),
      past_key: keys,
      past_value: values,
      seqlens_k: Tensor.over('int32', [1], Int32Array.of(past + length - 1)),
      total: Tensor.over('int32', [], Int32Array.of(past + length)),
    };
    const out = Tensor.over('float', [1, length, numHeads * headDim], output);
    const binding = new IoBinding(this.#session);
    for (const [name, tensor] of Object.entries(inputs)) binding.bindInput(name, tensor);
    binding.bindOutput('output', out);
    binding.bindOutput('present_key', keys);
    binding.bindOutput('present_value', values);
    this.#session.run(binding);
    for (const handle of [out, ...Object.values(inputs)]) handle.release();
    return output;
  }
}

const shapes: AttentionShape[] = [
  { numHeads: 4, numKvHeads: 4, headDim: 16 },
  { numHeads: 6, numKvHeads: 2, headDim: 16 },
  { numHeads: 9, numKvHeads: 3, headDim: 32 },
];

describe.each(shapes)('paged attention with %o', (shape) => {
  const { numHeads, numKvHeads, headDim } = shape;
  const width = (numHeads + 2 * numKvHeads) * headDim;
  const session = new Session(attentionGraph(shape), { intraOpThreads: 1 });
  afterAll(() => session.release());

  it("gives what ONNX Runtime's attention gives over contiguous caches", () => {
    const pageLength = 16;
    const numPages = 16;
    const kv = new PagedKvCache({ numSlots: 4, capacity: CAPACITY, numPages, pageLength });
    const size = numPages * pageLength * numKvHeads * headDim;
    // Values not to be read are not numbers.
    const cache = {
      pageLength,
      keys: new Float32Array(size).fill(NaN),
      values: new Float32Array(size).fill(NaN),
    };
    const rotary = rotaryTables(rotaryShape(headDim), CAPACITY);
    /** The same token at the same position has the same queries, keys and values. */
    const qkvOf = (tokenIds: Int32Array, start: number) =>
      Float32Array.from({ length: tokenIds.length * width }, (_, i) => {
        const [token, channel] = [Math.floor(i / width), i % width];
        const x = Math.sin(
          (tokenIds[token] ?? 0) * 12.9898 + (start + token) * 3.1 + channel * 78.233,
        );
        return (x * 43758.5453) % 1;
      });
    const open = (id: number, ...promptTokenIds: number[]) => {
      const sequence = new Sequence(
        engineRequest({ id, promptTokenIds: Int32Array.from(promptTokenIds) }),
      );
      expect(kv.reserve(sequence, 0)).toBe(true);
      const contiguous = new ContiguousAttention(session, shape);
      // Tokens found in pages are computed anew in the contiguous cache.
      const { numComputedTokens } = sequence;
      if (numComputedTokens > 0) {
        contiguous.append(qkvOf(sequence.tokenIds(0, numComputedTokens), 0), 0);
      }
      return { sequence, contiguous };
    };
    const beginning = Array.from({ length: 32 }, (_, i) => 1 + i);
    /** One run over a chunk of each sequence. */
    const step = (...chunks: readonly [ReturnType<typeof open>, number][]) => {
      for (const { type, ...copy } of kv.drainOperations()) {
        expect(type).toBe('copy');
        const page = pageLength * numKvHeads * headDim;
        if (!('from' in copy)) continue;
        for (const part of [cache.keys, cache.values]) {
          part.copyWithin(copy.to * page, copy.from * page, (copy.from + 1) * page);
        }
      }
      const segments = chunks.map(([{ sequence }, length]) => segmentOf(sequence, length));
      const batch = packSegments(segments, pageLength);
      const parts = segments.map((segment) => qkvOf(tokenIdsOf(segment), segment.start));
      const qkv = Float32Array.from(parts.flatMap((part) => [...part]));
      const output = pagedAttention(shape, qkv, batch, cache, rotary);
      const expected = chunks.flatMap(([{ contiguous, sequence }], index) => [
        ...contiguous.append(parts[index] ?? new Float32Array(), sequence.numComputedTokens),
      ]);
      expect(output).toHaveLength(expected.length);
      const worst = output.reduce(
        (max, value, i) => Math.max(max, Math.abs(value - (expected[i] ?? NaN))),
        0,
      );
      expect(worst).toBeLessThan(1e-5);
      for (const { sequence, numTokens } of segments) {
        sequence.numComputedTokens += numTokens;
        kv.registerBlocks(sequence);
      }
    };
    const generate = ({ sequence }: ReturnType<typeof open>, tokenId: number) => {
      sequence.append(tokenId);
      expect(kv.grow(sequence, sequence.numTokens)).toBe(true);
    };

    const [a, b] = [open(1, ...beginning, 50, 51, 52), open(2, 7, 8, 9)];
    step([a, 20], [b, 3]);
    generate(b, 10);
    step([b, 1], [a, 14]);
    generate(b, 11);
    // Shares two pages with the first, and one of them is copied by the one whose prompt it is all of.
    const [c, d] = [open(3, ...beginning, 60, 61), open(4, ...beginning)];
    expect([c, d].map(({ sequence }) => sequence.numComputedTokens)).toEqual([32, 31]);
    step([a, 1], [b, 1], [c, 2], [d, 1]);
    for (let count = 0; count < 18; count++) {
      for (const one of [a, b, c, d]) generate(one, 70 + count);
      step([d, 1], [c, 1], [b, 1], [a, 1]);
    }
  });
});
