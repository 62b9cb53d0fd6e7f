import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { tune, tuningStages } from '../../../src/cli/build/autotune.ts';
import {
  describeTuning,
  readTuning,
  type Settings,
  type Tuning,
  withTuning,
  writeTuning,
} from '../../../src/serving/plan/tuning.ts';
import type { Speed } from '../../../src/eval/compare/measure-speed.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const START: Settings = { kernels: 'native', threads: 2, maxNumBatchedTokens: 512 };
const TUNING: Tuning = {
  settings: { kernels: 'onnxruntime', threads: 3, maxNumBatchedTokens: 1024 },
  date: '2026-01-02T03:04:05.000Z',
};

describe('tuning', () => {
  /** Speeds as a function of the settings, with one or several numbers of streams. */
  const machine = (rate: (settings: Settings) => number) => {
    const measured: Settings[][] = [];
    const measure = async (_: unknown, settings: readonly Settings[]): Promise<Speed[]> => {
      measured.push([...settings]);
      return settings.map((each) => ({
        startMs: 0,
        levels: [1, 4].map((streams) => {
          const tokensPerSecond = rate(each) * streams;
          return { streams, p50Ms: 0, p95Ms: 0, requestsPerSecond: 0, tokensPerSecond };
        }),
      }));
    };
    return { measure, measured };
  };
  const stages = tuningStages(true, true, 1024);

  test('picks what is clearly better, one setting after the other', async () => {
    const { measure, measured } = machine(
      ({ kernels, threads, maxNumBatchedTokens }) =>
        (kernels === 'native' ? 1 : 2) * (threads === 1 ? 1.5 : 1) * maxNumBatchedTokens,
    );
    const { settings, tried } = await tune(START, stages, measure);
    expect(settings).toEqual({ kernels: 'onnxruntime', threads: 1, maxNumBatchedTokens: 2048 });
    // Later stages are measured with what earlier ones picked.
    expect(measured.at(-1)?.every(({ threads }) => threads === 1)).toBe(true);
    expect(tried.filter(({ isPicked }) => isPicked)).toHaveLength(3);
    // The geometric mean over one and four streams.
    expect(tried[0]?.tokensPerSecond).toBeCloseTo(2 * 512);
  });

  test('stays with the defaults where a gain may be noise', async () => {
    const { measure } = machine(({ threads }) => (threads === START.threads ? 100 : 102));
    expect((await tune(START, stages, measure)).settings).toEqual(START);
  });

  test('measures nothing that flags have said', async () => {
    const { measure, measured } = machine(() => 1);
    await tune(START, tuningStages(false, false, 1024), measure);
    expect(measured).toHaveLength(1);
    expect(measured[0]?.map(({ maxNumBatchedTokens }) => maxNumBatchedTokens)).toEqual([
      512, 256, 1024, 2048,
    ]);
  });
});

describe('flags', () => {
  const open = {
    kernels: 'auto',
    kvCacheDtype: 'auto',
    threads: 0,
    maxNumBatchedTokens: undefined,
    maxNumSeqs: 32,
  } as const;

  test('that are open are as tuned', () => {
    expect(withTuning(open, TUNING)).toEqual({ ...open, ...TUNING.settings });
    expect(withTuning(open, null)).toBe(open);
  });

  test('that somebody gave stay', () => {
    const given = { ...open, kernels: 'native', threads: 1, maxNumBatchedTokens: 64 } as const;
    expect(withTuning(given, TUNING)).toEqual(given);
  });

  test('never come to what is refused', () => {
    // Only our own kernels have a cache of float16.
    expect(withTuning({ ...open, kvCacheDtype: 'float16' }, TUNING).kernels).toBe('auto');
    expect(withTuning({ ...open, maxNumSeqs: 4000 }, TUNING).maxNumBatchedTokens).toBe(4000);
    // Requests with adapters cannot have our own kernels, so nobody is made to.
    const native = { ...TUNING, settings: START };
    expect(withTuning(open, native).kernels).toBe('auto');
  });
});

describe('the cache', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await temporaryDirectory();
    vi.stubEnv('CHAIRLIFT_CACHE', folder);
  });
  afterEach(() => vi.unstubAllEnvs());
  const model = { config: { numLayers: 6 }, precision: 'int8' };

  test('keeps a tuning by shape and precision', async () => {
    expect(await readTuning(model)).toBeNull();
    await writeTuning(model, TUNING);
    expect(await readTuning(model)).toEqual(TUNING);
    expect(await readTuning({ ...model, precision: 'int4' })).toBeNull();
    expect(await readTuning({ ...model, config: { numLayers: 7 } })).toBeNull();
    expect(await readdir(join(folder, 'tuning'))).toHaveLength(1);
  });

  test.each(['no JSON', '{}', '{"settings": {"threads": 0}}'])(
    'a damaged file (%s) counts as none',
    async (text) => {
      const path = await writeTuning(model, TUNING);
      await writeFile(path, text);
      expect(await readTuning(model)).toBeNull();
    },
  );

  test('that cannot be written to is named', async () => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'tuning'), '');
    await expect(writeTuning(model, TUNING)).rejects.toThrow(folder);
  });
});

test('the banner tells what was tuned, and when', () => {
  expect(describeTuning(TUNING)).toBe(
    'by build --autotune on 2026-01-02: 3 threads, 1024 tokens a step',
  );
});
