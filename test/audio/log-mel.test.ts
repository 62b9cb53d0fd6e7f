/** Against WhisperFeatureExtractor of Transformers: scripts/references/audio.py. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { LogMel } from '../../src/audio/log-mel.ts';

interface FeatureCase {
  readonly seed: number;
  readonly count: number;
  readonly loud: number;
  readonly mels: number;
  readonly every: number;
  readonly values: readonly number[];
  readonly rows: readonly number[];
}

/** Frames in a window of 30 s. */
const FRAMES = 3000;

const FILE = new URL('../fixtures/audio/features.json', import.meta.url);
const CASES = JSON.parse(await readFile(FILE, 'utf8')) as FeatureCase[];

for (const { seed, count, loud, mels, every, values, rows } of CASES) {
  test(`${count} samples, ${mels} bands`, () => {
    const features = new LogMel({ mels, frames: FRAMES }).features(noise(count, seed, loud));
    expect(features).toHaveLength(mels * FRAMES);
    const found = Array.from(features).filter((_, index) => index % every === 0);
    expect(found).toHaveLength(values.length);
    expect(farthest(found, values)).toBeLessThan(1e-4);
    const means = Array.from({ length: mels }, (_, mel) => meanOf(features, mel));
    expect(farthest(means, rows)).toBeLessThan(1e-4);
  });
}

test('a window of silence is as low as it can be', () => {
  const features = new LogMel({ mels: 80, frames: FRAMES }).features(new Float32Array());
  expect(new Set(features)).toEqual(new Set([-1.5]));
});

/** As the script draws it. */
function noise(count: number, seed: number, loud: number): Float32Array {
  let state = seed;
  return Float32Array.from({ length: count }, (_, index) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const wave = (index * (1 + Math.floor(index / 4000))) % 160 < 80 ? 1 : -1;
    return (Math.floor(((state >>> 16) - 32_768) / loud) + wave * 1500) / 32_768;
  });
}

function meanOf(features: Float32Array, mel: number): number {
  const row = features.subarray(mel * FRAMES, (mel + 1) * FRAMES);
  return row.reduce((sum, value) => sum + value, 0) / FRAMES;
}

function farthest(found: readonly number[], expected: readonly number[]): number {
  return Math.max(...found.map((value, index) => Math.abs(value - (expected[index] ?? NaN))));
}
