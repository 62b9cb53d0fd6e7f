import { beforeAll, describe, expect, test } from 'vitest';
import {
  floats,
  type NodeValue,
  presentInstructions,
  randomNumbers,
  runNode,
} from '../support/native-node.ts';
import { nativePositionWidth } from '../../src/model/native/position-width.ts';
import { attend, type ReferenceAttention } from '../support/native-reference.ts';
import { everyOrLong, orLong } from '../support/long-runs.ts';

type CacheType = 'float' | 'float16' | 'int8';

const OPERATORS = {
  float: 'Attention',
  float16: 'AttentionFloat16',
  int8: 'AttentionInt8',
} as const;
const ARRAYS = { float: Float32Array, float16: Uint16Array, int8: Int8Array } as const;

interface Shape {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly window?: number;
  readonly softcap?: number;
  readonly norms?: 'head' | 'all heads';
  readonly sinks?: boolean;
}

const POSITIONS = 640;

function reference(shape: Shape): ReferenceAttention {
  const { heads, kvHeads, headDim, window = 0, softcap = 0, norms = 'none' } = shape;
  const half = headDim / 2;
  const angle = (i: number) => Math.floor(i / half) * 0.9 ** (i % half);
  // As the graphs' tables, with the root of the scale in them.
  const length = headDim ** -0.25;
  const cos = Float32Array.from(
    { length: POSITIONS * half },
    (_, i) => length * Math.cos(angle(i)),
  );
  const sin = Float32Array.from(
    { length: POSITIONS * half },
    (_, i) => length * Math.sin(angle(i)),
  );
  const numNorms = (count: number) => (norms === 'all heads' ? count : 1) * headDim;
  const around1 = (seed: number, count: number) =>
    Array.from(randomNumbers(seed, numNorms(count), 0.2), (x) => Math.fround(1 + x));
  return {
    heads,
    kvHeads,
    headDim,
    window,
    softcap,
    norms,
    cos,
    sin,
    queryNorm: around1(6, heads),
    keyNorm: around1(7, kvHeads),
    epsilon: 1e-5,
    sinks: shape.sinks ? Array.from(randomNumbers(8, heads)) : null,
  };
}

/** Slots of a cache. */
class Cache {
  readonly type: CacheType;
  readonly shape: number[];
  readonly keys: NodeValue;
  readonly values: NodeValue;

  constructor(a: ReferenceAttention, type: CacheType, batch: number, capacity: number) {
    this.type = type;
    const position = nativePositionWidth(a.headDim, type === 'float' ? 'float32' : type);
    this.shape = [batch, a.kvHeads, capacity, position];
    const size = batch * a.kvHeads * capacity * position;
    // Unwritten values must not matter: not numbers, where the type has such.
    const make = () => {
      const data = new ARRAYS[type](size);
      if (type !== 'int8') data.fill(type === 'float' ? NaN : 0x7e00);
      return data;
    };
    this.keys = { type, shape: this.shape, data: make() };
    this.values = { type, shape: this.shape, data: make() };
  }
}

interface Group {
  readonly cache: Cache;
  /** By row: [tokens, width] */
  readonly qkv: readonly Float32Array[];
  readonly tokens: number;
  /** By row, after this step. */
  readonly lengths: readonly number[];
  /** By token where the positions end that it sees, if that is after its own. */
  readonly ends?: readonly number[];
}

/**
 * Runs the node; gives its output.
 * @param wanted places of the tokens whose output is read; all if left out
 */
function run(
  a: ReferenceAttention,
  groups: readonly Group[],
  instructions: string | null = null,
  threads = 1,
  wanted?: readonly number[],
): Float32Array {
  const width = (a.heads + 2 * a.kvHeads) * a.headDim;
  const rows = groups.flatMap(({ qkv }) => qkv);
  const numTokens = groups.reduce((sum, { qkv, tokens }) => sum + qkv.length * tokens, 0);
  const all = new Float32Array(numTokens * width);
  let at = 0;
  for (const row of rows) {
    all.set(row, at);
    at += row.length;
  }
  const half = a.headDim / 2;
  const hasNorms = a.norms !== 'none';
  const output = new Float32Array(numTokens * a.heads * a.headDim).fill(NaN);
  const [first] = groups;
  const ends = groups.flatMap((group) => group.ends ?? []);
  runNode(
    {
      opType: OPERATORS[first?.cache.type ?? 'float'],
      attributes: {
        num_heads: BigInt(a.heads),
        kv_num_heads: BigInt(a.kvHeads),
        head_dim: BigInt(a.headDim),
        local_window_size: BigInt(a.window),
        softcap: a.softcap,
        norms_all_heads: a.norms === 'all heads' ? 1n : 0n,
        epsilon: a.epsilon,
      },
      inputs: [
        floats([numTokens, width], all),
        floats([POSITIONS, half], a.cos),
        floats([POSITIONS, half], a.sin),
        hasNorms ? floats([a.queryNorm.length], Float32Array.from(a.queryNorm)) : undefined,
        hasNorms ? floats([a.keyNorm.length], Float32Array.from(a.keyNorm)) : undefined,
        a.sinks ? floats([a.heads], Float32Array.from(a.sinks)) : undefined,
        ...groups.flatMap(({ cache, qkv, tokens, lengths }): NodeValue[] => [
          {
            type: 'int64',
            shape: [qkv.length, tokens],
            data: new BigInt64Array(qkv.length * tokens),
          },
          cache.keys,
          cache.values,
          {
            type: 'int32',
            shape: [qkv.length],
            data: Int32Array.from(lengths, (length) => length - 1),
          },
          { type: 'int32', shape: [], data: Int32Array.of(Math.max(...lengths)) },
        ]),
        ...Array.from({ length: 5 * (2 - groups.length) }, () => undefined),
        ends.length === 0
          ? undefined
          : { type: 'int32' as const, shape: [ends.length], data: Int32Array.from(ends) },
        wanted && {
          type: 'int64' as const,
          shape: [wanted.length],
          data: BigInt64Array.from(wanted, BigInt),
        },
      ],
      outputs: [
        floats([numTokens, a.heads * a.headDim], output),
        ...groups.flatMap(({ cache }) => [cache.keys, cache.values]),
      ],
    },
    instructions,
    threads,
  );
  return output;
}

/** A sequence of tokens, and what attention gives for each, in plain loops. */
function sequence(a: ReferenceAttention, seed: number, length: number) {
  const width = (a.heads + 2 * a.kvHeads) * a.headDim;
  const qkv = randomNumbers(seed, length * width, 0.7);
  const tokens = Array.from({ length }, (_, t) => qkv.subarray(t * width, (t + 1) * width));
  const part = (start: number, end: number) => qkv.subarray(start * width, end * width);
  return { part, expected: (ends?: readonly number[]) => attend(a, tokens, ends) };
}

/** A sequence of its own, chunk by chunk. */
function inChunks(
  a: ReferenceAttention,
  type: CacheType,
  chunks: readonly number[],
  instructions: string | null = null,
  threads = 1,
  ends?: readonly number[],
): Float32Array {
  const total = chunks.reduce((sum, size) => sum + size, 0);
  const { part } = sequence(a, 1, total);
  const cache = new Cache(a, type, 1, Math.ceil(total / 16) * 16);
  const outputs: Float32Array[] = [];
  let start = 0;
  for (const size of chunks) {
    const end = start + size;
    const group = {
      cache,
      qkv: [part(start, end)],
      tokens: size,
      lengths: [end],
      ...(ends && { ends: ends.slice(start, end) }),
    };
    outputs.push(run(a, [group], instructions, threads));
    start = end;
  }
  return Float32Array.from(outputs.flatMap((output) => Array.from(output)));
}

const worstOf = (actual: Float32Array, expected: readonly number[]) =>
  expected.reduce((worst, value, i) => Math.max(worst, Math.abs(value - (actual[i] ?? NaN))), 0);
const bytesOf = (values: Float32Array) =>
  Buffer.from(values.buffer, values.byteOffset, values.byteLength);

/** Every second has all that there is. */
const SHAPES: readonly Shape[] = [
  { heads: 3, kvHeads: 1, headDim: 6, window: 9 },
  { heads: 2, kvHeads: 2, headDim: 32, window: 5 },
  { heads: 9, kvHeads: 3, headDim: 64 },
  { heads: 3, kvHeads: 1, headDim: 16 },
  { heads: 4, kvHeads: 1, headDim: 80, softcap: 3 },
  { heads: 2, kvHeads: 1, headDim: 256, sinks: true, window: 1 },
  { heads: 8, kvHeads: 2, headDim: 16, norms: 'all heads', window: 140 },
  { heads: 4, kvHeads: 2, headDim: 8, norms: 'all heads', sinks: true },
  { heads: 2, kvHeads: 1, headDim: 48, norms: 'head', sinks: true },
  { heads: 2, kvHeads: 2, headDim: 72, norms: 'head' },
];
const TOLERANCES = [
  ['float', 2e-5],
  ['float16', 3e-3],
  ['int8', 5e-2],
] as const;

const ones = (count: number) => Array.from({ length: count }, () => 1);
/** Token by token where blocks and tiles begin, which cost a session each. */
const BY_ONES = orLong(
  [...ones(18), 108, ...ones(4), 125, ...ones(3), 42],
  [...ones(40), 80, ...ones(25), 107, ...ones(48)],
);

describe.each(everyOrLong(2, SHAPES))('%j', (shape) => {
  const a = reference(shape);
  const chunks = [1, 20, 129, 1, 1, 3, 140, 1];
  let expected: number[];
  beforeAll(() => {
    expected = sequence(a, 1, 296).expected().flat();
  });

  test.each(TOLERANCES)('with a cache of %s is what plain loops compute', (type, tolerance) => {
    const results = presentInstructions().map((name) => inChunks(a, type, chunks, name));
    expect(worstOf(results[0] ?? new Float32Array(), expected)).toBeLessThan(tolerance);
    for (const result of results) {
      expect(bytesOf(result).equals(bytesOf(results[0] ?? result))).toBe(true);
    }
  });
});

describe.each(everyOrLong(4, SHAPES))('%j', (shape) => {
  const a = reference(shape);

  test.each(TOLERANCES)('with a cache of %s chunks do not matter, nor threads', (type) => {
    const whole = inChunks(a, type, [300]);
    const others = [
      inChunks(a, type, [100, 100, 100]),
      inChunks(a, type, [131, 1, 1, 1, 166], null, 3),
      inChunks(a, type, BY_ONES),
    ];
    for (const other of others) expect(bytesOf(other).equals(bytesOf(whole))).toBe(true);
  });
});

/** Images of a text of 296 tokens; one is longer than a block of positions, and one is a single token. */
const IMAGES = [
  [5, 40],
  [100, 250],
  [260, 261],
] as const;
const ENDS = Array.from(
  { length: 296 },
  (_, token) => IMAGES.find(([first, end]) => first <= token && token < end)?.[1] ?? 0,
);

describe.each(everyOrLong(4, SHAPES))('tokens that see all of an image, %j', (shape) => {
  const a = reference(shape);
  let expected: number[];
  beforeAll(() => {
    expected = sequence(a, 1, 296).expected(ENDS).flat();
  });

  test.each(TOLERANCES)('in a cache of %s, are what plain loops compute', (type, tolerance) => {
    const whole = presentInstructions().map((name) => inChunks(a, type, [296], name, 1, ENDS));
    expect(worstOf(whole[0] ?? new Float32Array(), expected)).toBeLessThan(tolerance);
    const others = [
      inChunks(a, type, [5, 41, 204, 11, 1, 34], null, 3, ENDS),
      inChunks(a, type, [296], null, 3, ENDS),
    ];
    for (const result of [...whole, ...others]) {
      expect(bytesOf(result).equals(bytesOf(whole[0] ?? result))).toBe(true);
    }
  });
});

test('a dimension of keys that is much larger than the others costs an int8 cache little', () => {
  const a = reference({ heads: 2, kvHeads: 1, headDim: 64 });
  const width = 4 * 64;
  const qkv = randomNumbers(3, 200 * width, 0.7);
  for (const [at] of qkv.entries()) {
    const column = at % width;
    // One pair of dimensions that turn together: scores stay as they were.
    if (column % 32 !== 5 || column >= 3 * 64) continue;
    qkv[at] = (qkv[at] ?? 0) * (column < 2 * 64 ? 1 / 50 : 50);
  }
  const tokens = Array.from({ length: 200 }, (_, t) => qkv.subarray(t * width, (t + 1) * width));
  const cache = new Cache(a, 'int8', 1, 208);
  const actual = run(a, [{ cache, qkv: [qkv], tokens: 200, lengths: [200] }]);
  expect(worstOf(actual, attend(a, tokens).flat())).toBeLessThan(0.05);
});

test('a context that is split is so for images, too', () => {
  const a = reference({ heads: 1, kvHeads: 1, headDim: 32 });
  const ends = Array.from({ length: 600 }, (_, token) => (token < 580 ? 0 : 599));
  const single = inChunks(a, 'float', [580, 20], null, 3, ends);
  expect(worstOf(single, sequence(a, 1, 600).expected(ends).flat())).toBeLessThan(2e-5);
  expect(bytesOf(inChunks(a, 'float', [600], null, 1, ends)).equals(bytesOf(single))).toBe(true);
});

test('an image that was computed is seen by what is left of it', () => {
  const a = reference({ heads: 2, kvHeads: 1, headDim: 32, window: 20 });
  const { part, expected } = sequence(a, 1, 296);
  const cache = new Cache(a, 'float', 1, 304);
  const all = { cache, qkv: [part(0, 296)], tokens: 296, lengths: [296], ends: ENDS };
  const whole = run(a, [all]);
  const rest = { qkv: [part(180, 296)], tokens: 116, ends: ENDS.slice(180) };
  const again = run(a, [{ ...all, ...rest }]);
  expect(bytesOf(again).equals(bytesOf(whole.subarray(180 * 64)))).toBe(true);
  expect(worstOf(whole, expected(ENDS).flat())).toBeLessThan(2e-5);
});

test.each([
  [[0, 0, 0, 5], 'sees more than its row has'],
  [[0, -1, 0, 0], 'sees more than its row has'],
  [[0, 0, 0], 'not an end for each token'],
])('ends %j are refused', (ends, message) => {
  const a = reference({ heads: 1, kvHeads: 1, headDim: 16 });
  const group = { cache: new Cache(a, 'float', 1, 16), tokens: 4, lengths: [4], ends };
  const qkv = [sequence(a, 1, 4).part(0, 4)];
  expect(() => run(a, [{ ...group, qkv }])).toThrow(message);
});

const isSame = (a: NodeValue, b: NodeValue | undefined): boolean =>
  b !== undefined && Buffer.from(a.data.buffer).equals(Buffer.from(b.data.buffer));

describe.each(TOLERANCES)('with a cache of %s', (type) => {
  const a = reference({ heads: 4, kvHeads: 2, headDim: 24, window: 150, sinks: true });
  /** A prompt of two rows, and three rows of a token each behind a long context. */
  function groups(): Group[] {
    const { part } = sequence(a, 1, 400);
    const long = new Cache(a, type, 3, 304);
    const rows = [0, 1, 2].map((row) => part(row, row + 299));
    run(a, [{ cache: long, qkv: rows, tokens: 299, lengths: [299, 299, 299] }]);
    const next = [300, 310, 320].map((at) => part(at, at + 1));
    const prompts = [part(100, 170), part(200, 270)];
    return [
      { cache: long, qkv: next, tokens: 1, lengths: [300, 300, 300] },
      { cache: new Cache(a, type, 2, 80), qkv: prompts, tokens: 70, lengths: [70, 70] },
    ];
  }

  test('there are outputs of the wanted tokens alone', () => {
    const whole = groups();
    const all = run(a, whole);
    const width = a.heads * a.headDim;
    for (const wanted of [[], [2], [1, 3, 72, 142], [0, 1, 2]]) {
      const some = groups();
      const expected = new Float32Array(all.length);
      for (const token of wanted) {
        const [start, end] = [token * width, (token + 1) * width];
        expected.set(all.subarray(start, end), start);
      }
      expect(bytesOf(run(a, some, null, 3, wanted)).equals(bytesOf(expected))).toBe(true);
      for (const [index, { cache }] of some.entries()) {
        expect(isSame(cache.keys, whole[index]?.cache.keys)).toBe(true);
        expect(isSame(cache.values, whole[index]?.cache.values)).toBe(true);
      }
    }
  });

  test.each([[[143]], [[-1]], [[0, 1000]]])('places %j are refused', (wanted) => {
    expect(() => run(a, groups(), null, 1, wanted)).toThrow('a wanted place is not one');
  });
});

test.each(TOLERANCES)(
  'with a cache of %s a long context that is split gives the same as one that is not',
  (type) => {
    const a = reference({ heads: 2, kvHeads: 1, headDim: 32, window: 600, sinks: true });
    // Ten tasks of a prompt, and single ones whose context is shared out.
    const whole = inChunks(a, type, [636]);
    const single = inChunks(
      a,
      type,
      [...Array.from({ length: 6 }, () => 100), 33, 1, 1, 1],
      null,
      3,
    );
    expect(bytesOf(single).equals(bytesOf(whole))).toBe(true);
    if (type !== 'float') return;
    const { expected } = sequence(a, 1, 636);
    expect(worstOf(single, expected().flat())).toBeLessThan(2e-5);
  },
);

test('rows of several groups do not touch each other', () => {
  const a = reference({ heads: 4, kvHeads: 2, headDim: 32 });
  const decoding = [3, 150, 1].map((length, row) => ({ length, ...sequence(a, 20 + row, length) }));
  const decodeCache = new Cache(a, 'float', 3, 160);
  // Slot by slot up to the last token.
  for (const [row, { length, part }] of decoding.entries()) {
    if (length === 1) continue;
    const rest = decoding.map((other, index) =>
      index === row ? part(0, length - 1) : other.part(0, 0),
    );
    const before = new Cache(a, 'float', 1, 160);
    const qkv = [rest[row] ?? new Float32Array()];
    run(a, [{ cache: before, qkv, tokens: length - 1, lengths: [length - 1] }]);
    const slot = 2 * 160 * 32;
    (decodeCache.keys.data as Float32Array).set(before.keys.data as Float32Array, row * slot);
    (decodeCache.values.data as Float32Array).set(before.values.data as Float32Array, row * slot);
  }
  // Two whole prompts of 40 and 25 tokens, padded to 40.
  const prompts = [40, 25].map((length, row) => ({ length, ...sequence(a, 30 + row, 40) }));
  const prefillCache = new Cache(a, 'float', 2, 64);
  const output = run(a, [
    {
      cache: decodeCache,
      qkv: decoding.map(({ length, part }) => part(length - 1, length)),
      tokens: 1,
      lengths: decoding.map(({ length }) => length),
    },
    {
      cache: prefillCache,
      qkv: prompts.map(({ part }) => part(0, 40)),
      tokens: 40,
      lengths: prompts.map(({ length }) => length),
    },
  ]);
  const size = a.heads * a.headDim;
  for (const [row, { expected }] of decoding.entries()) {
    expect(worstOf(output.subarray(row * size), expected().at(-1) ?? [])).toBeLessThan(2e-5);
  }
  for (const [row, { length, expected }] of prompts.entries()) {
    const first = (3 + 40 * row) * size;
    const wanted = expected().slice(0, length).flat();
    expect(worstOf(output.subarray(first), wanted)).toBeLessThan(2e-5);
  }
});

test('what is not a number reaches no token before it, and no other sequence', () => {
  const a = reference({ heads: 3, kvHeads: 1, headDim: 64 });
  const size = a.heads * a.headDim;
  const { part } = sequence(a, 1, 40);
  const width = (a.heads + 2 * a.kvHeads) * a.headDim;
  const runWith = (qkv: Float32Array) =>
    run(a, [
      {
        cache: new Cache(a, 'float', 2, 64),
        qkv: [qkv, part(0, 40)],
        tokens: 40,
        lengths: [40, 40],
      },
    ]);
  const clean = runWith(part(0, 40));
  const spoiled = part(0, 40)
    .slice()
    .fill(NaN, 30 * width, 31 * width);
  const output = runWith(spoiled);
  expect(bytesOf(output.subarray(0, 30 * size)).equals(bytesOf(clean.subarray(0, 30 * size)))).toBe(
    true,
  );
  expect(output.subarray(30 * size, 40 * size).every(Number.isNaN)).toBe(true);
  expect(bytesOf(output.subarray(40 * size)).equals(bytesOf(clean.subarray(40 * size)))).toBe(true);
});

describe('lengths that do not fit are refused', () => {
  const a = reference({ heads: 2, kvHeads: 1, headDim: 16 });
  const { part } = sequence(a, 1, 20);
  test.each([
    ['past the cache', 4, 17],
    ['shorter than the tokens', 4, 3],
    ['a prompt longer than the cache', 17, 17],
    ['nothing at all', 1, 0],
    ['before the first', 1, -5],
  ])('%s', (_, tokens, length) => {
    const cache = new Cache(a, 'float', 1, 16);
    const group = { cache, qkv: [part(0, tokens)], tokens, lengths: [length] };
    expect(() => run(a, [group])).toThrow(/length does not fit/);
  });
});
