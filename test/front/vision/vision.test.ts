import { describe, expect, test } from 'vitest';
import type { Caller } from '../../../src/front/caller.ts';
import type { ReadTiles, TilesJob } from '../../../src/front/images/image-job.ts';
import { QueueFullError } from '../../../src/front/queue/admission.ts';
import { Vision, type VisionFormat, type VisionOptions } from '../../../src/front/vision/vision.ts';
import type { Cutting } from '../../../src/images/cut-image.ts';
import { LIMITS } from '../../../src/limits.ts';

const SIDE = 2;
const HIDDEN = 4;
const TOKENS = 3;
const FILE = Uint8Array.of(1, 2, 3);

const TILES = {
  kind: 'tiles',
  longestEdge: 4,
  tileSide: SIDE,
  splits: true,
  resample: 'lanczos',
} as const;

/** Rows of a tile are all its first byte. */
class Eyes {
  readonly jobs: TilesJob[] = [];
  readonly encoded: number[] = [];
  /** Settled when an encoding may go on. */
  encoding: Promise<void> = Promise.resolve();
  readonly vision: Vision;

  constructor(hiddenSize = HIDDEN, packing?: VisionFormat['packing'], cutting: Cutting = TILES) {
    const pool = { tiles: async (job: TilesJob) => this.#read(job) };
    const encoder: VisionOptions['encoder'] = {
      infer: async ([input], _, { signal }) => {
        const first = Number(input?.data[0]);
        this.encoded.push(first);
        await this.encoding;
        signal.throwIfAborted();
        const data = new Float32Array(TOKENS * HIDDEN).fill(first);
        return [{ name: 'embeddings', datatype: 'FP32', shape: [1, TOKENS, HIDDEN], data }];
      },
    };
    this.vision = new Vision({
      format: {
        cutting,
        tokenId: 7,
        hiddenSize,
        ...(packing && { packing }),
        shown: ({ rows, columns }) => ({
          placeholder: `<${rows}x${columns}>`,
          tokensPerTile: TOKENS,
        }),
        inputs: (data) => [
          { name: 'pixels', datatype: 'UINT8', shape: [data.length], data: new Uint8Array(data) },
        ],
      },
      pool,
      encoder,
    });
  }

  /** Two tiles and the whole, or the whole alone. */
  #read(job: TilesJob): ReadTiles {
    this.jobs.push(job);
    const splits = 'splits' in job.cutting && job.cutting.splits;
    const names = splits ? [10, 20, 30] : [30];
    return {
      rows: splits ? 1 : 0,
      columns: splits ? 2 : 0,
      hashes: names.map(String),
      pixels: job.wantsPixels ? names.map((name) => new Uint8Array(12).fill(name)) : [],
    };
  }
}

function callerOf(client = 'a', signal = new AbortController().signal): Caller {
  return { client, signal };
}

const IMAGE = {
  file: FILE,
  inDetail: true,
  tokensPerTile: TOKENS,
  tiles: [
    { start: 2, hash: '10' },
    { start: 6, hash: '20' },
    { start: 10, hash: '30' },
  ],
};

test('an image is cut for its prompt, without its pixels', async () => {
  const { vision, jobs } = new Eyes();
  const [whole, parted] = await vision.cut(
    [
      { file: FILE, detail: 'low' },
      { file: FILE, detail: 'auto' },
    ],
    callerOf(),
  );
  expect(whole).toEqual({
    file: FILE,
    inDetail: false,
    placeholder: '<0x0>',
    hashes: ['30'],
    tokensPerTile: TOKENS,
  });
  expect(parted).toMatchObject({
    inDetail: true,
    placeholder: '<1x2>',
    hashes: ['10', '20', '30'],
  });
  expect(jobs.map(({ wantsPixels }) => wantsPixels)).toEqual([false, false]);
});

test('how an image is cut is known at the next turn, to its client alone', async () => {
  const { vision, jobs } = new Eyes();
  const image = { file: FILE, detail: 'high' } as const;
  const first = await vision.cut([image, image], callerOf());
  expect(await vision.cut([image, image], callerOf())).toEqual(first);
  expect(jobs).toHaveLength(1);
  await vision.cut([{ file: FILE, detail: 'low' }], callerOf());
  await vision.cut([{ file: Uint8Array.of(1, 2, 4), detail: 'high' }], callerOf());
  await vision.cut([image], callerOf('b'));
  expect(jobs).toHaveLength(4);
});

test('one of several images is cut in another way than one alone, where a model sees it so', async () => {
  const cutting = {
    kind: 'anyres',
    tileSide: SIDE,
    cells: 1,
    canvases: [{ rows: 1, columns: 2 }],
    splits: true,
    resample: 'bicubic',
    margins: [1, 2, 3],
  } as const;
  const { vision, jobs } = new Eyes(HIDDEN, undefined, cutting);
  const image = { file: FILE, detail: 'auto' } as const;
  const [alone] = await vision.cut([image], callerOf());
  const [first, low] = await vision.cut([image, { ...image, detail: 'low' }], callerOf());
  expect(alone).toMatchObject({ hashes: ['10', '20', '30'] });
  expect(alone).not.toHaveProperty('isAmongOthers');
  expect(first).toMatchObject({ isAmongOthers: true, hashes: ['30'] });
  expect(low).toMatchObject({ isAmongOthers: true, hashes: ['30'] });
  const square = { ...cutting, splits: false, isSquared: true };
  expect(jobs.map((job) => job.cutting)).toEqual([cutting, square, square]);
  const placed = { ...IMAGE, isAmongOthers: true, tiles: [{ start: 2, hash: '30' }] } as const;
  await vision.embed([placed], '', callerOf());
  expect(jobs.at(-1)).toMatchObject({ cutting: square, wantsPixels: true });
});

test('each tile is encoded by itself, and found again by those of the same salt alone', async () => {
  const { vision, encoded, jobs } = new Eyes();
  const { embeddings } = await vision.embed([IMAGE], 'one', callerOf());
  expect(embeddings.map(({ start, rows }) => [start, rows.length, rows[0]])).toEqual([
    [2, TOKENS * HIDDEN, 10],
    [6, TOKENS * HIDDEN, 20],
    [10, TOKENS * HIDDEN, 30],
  ]);
  const again = await vision.embed([IMAGE], 'one', callerOf('b'));
  expect(again.embeddings).toEqual(embeddings);
  expect(encoded).toEqual([10, 20, 30]);
  expect(jobs).toHaveLength(1);
  expect(vision.counts).toEqual({ queries: 6, hits: 3 });
  await vision.embed([IMAGE], 'another', callerOf());
  expect(encoded).toEqual([10, 20, 30, 10, 20, 30]);
});

test('what another request computes is waited for, and computed where that one is ended', async () => {
  const eyes = new Eyes();
  let goOn = (): void => {};
  eyes.encoding = new Promise((resolve) => (goOn = resolve));
  const left = new AbortController();
  const first = eyes.vision.embed([IMAGE], '', callerOf('a', left.signal));
  const second = eyes.vision.embed([IMAGE], '', callerOf('b'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(eyes.encoded).toEqual([10]);
  left.abort(new Error('the client is gone'));
  goOn();
  await expect(first).rejects.toThrow('the client is gone');
  expect((await second).embeddings).toHaveLength(3);
  expect(eyes.encoded).toEqual([10, 10, 20, 30]);
});

test('requests hold so many embeddings, until they are over or have failed', async () => {
  const perTile = LIMITS.clientImageEmbeddingBytes / 6;
  const { vision } = new Eyes(perTile / (TOKENS * Float32Array.BYTES_PER_ELEMENT));
  const held = await vision.embed([IMAGE], '', callerOf());
  const other = await vision.embed([IMAGE], '', callerOf());
  await expect(vision.embed([IMAGE], '', callerOf())).rejects.toThrow(QueueFullError);
  other.release();
  other.release();
  const left = AbortSignal.abort(new Error('gone'));
  await expect(vision.embed([IMAGE], '', callerOf('a', left))).rejects.toThrow('gone');
  (await vision.embed([IMAGE], '', callerOf())).release();
  held.release();
});

describe('tiles that are packed', () => {
  /** The first row of each. */
  const packing: VisionFormat['packing'] = {
    tokensPerPart: TOKENS,
    pack: (packed, rows, tile) => packed.set(rows.subarray(0, HIDDEN), tile * HIDDEN),
  };

  test('have one place, by a hash of all of them, and rows of their own that are kept', async () => {
    const { vision, encoded } = new Eyes(HIDDEN, packing);
    const [image] = await vision.cut([{ file: FILE, detail: 'auto' }], callerOf());
    const grid = { rows: 1, columns: 2 };
    const parts = { grid, hashes: ['10', '20', '30'], tokens: TOKENS };
    expect(image).toMatchObject({ parts, hashes: [expect.stringMatching(/^[0-9a-f]{64}$/)] });
    const placed = { ...IMAGE, parts, tiles: [{ start: 5, hash: image?.hashes[0] ?? '' }] };
    for (let turn = 0; turn < 2; turn++) {
      const made = await vision.embed([placed], '', callerOf());
      const rows = Float32Array.from([10, 20, 30].flatMap((first) => Array(HIDDEN).fill(first)));
      expect(made.embeddings).toEqual([{ start: 5, rows }]);
      made.release();
    }
    expect(encoded).toEqual([10, 20, 30]);
    const [low] = await vision.cut([{ file: FILE, detail: 'low' }], callerOf());
    expect(low?.hashes).not.toEqual(image?.hashes);
  });

  test('are charged to their client beside what they become', async () => {
    // A little more than a client may hold, by three tokens of the whole and of one part.
    const size = Math.ceil((LIMITS.clientImageEmbeddingBytes + 1) / (2 * TOKENS * 4));
    const { vision } = new Eyes(size, packing);
    const parts = { grid: { rows: 1, columns: 2 }, hashes: ['10', '20', '30'], tokens: TOKENS };
    const image = { ...IMAGE, parts, tiles: [{ start: 5, hash: 'all' }] };
    await expect(vision.embed([image], '', callerOf())).rejects.toThrow(QueueFullError);
    const { parts: _parts, ...alone } = image;
    const made = await vision.embed([alone], '', callerOf());
    made.release();
  });
});
