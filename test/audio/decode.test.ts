/** Against libsndfile and scipy: scripts/references/audio.py wrote what they make of these files. */
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { decodeAudio } from '../../src/audio/decode.ts';

interface FileCase {
  readonly name: string;
  readonly file: string;
  readonly samples: string;
}

const PACKED = await readFile(new URL('../fixtures/audio/files.json.gz', import.meta.url));
const CASES = JSON.parse(gunzipSync(PACKED).toString()) as FileCase[];

/**
 * Largest root mean square of the difference, as a share of full scale. Lossless files differ by rounding and by
 * the filter; of MP3 and Vorbis the decoder is another version, and Opus is decoded to 16 kHz at once.
 */
const BOUNDS: readonly (readonly [RegExp, number])[] = [
  // The library has 127 as full scale.
  [/^flac-8/, 2e-3],
  [/^(?:wav|rf64|flac)/, 1e-4],
  [/^(?:mp3|vorbis)/, 2e-4],
  [/^opus/, 0.01],
];

for (const { name, file, samples } of CASES) {
  test(`${name} becomes the samples of libsndfile and scipy`, async () => {
    const expected = samplesOf(Buffer.from(samples, 'base64'));
    const found = await decoded(Buffer.from(file, 'base64'));
    expect(found.length).toBe(expected.length);
    const bound = BOUNDS.find(([pattern]) => pattern.test(name))?.[1] ?? 0;
    expect(difference(found, expected)).toBeLessThan(bound);
  });
}

async function decoded(file: Uint8Array): Promise<Int16Array> {
  const pieces: number[] = [];
  for await (const piece of decodeAudio(file)) pieces.push(...piece);
  return Int16Array.from(pieces);
}

function samplesOf(bytes: Buffer): Int16Array {
  return Int16Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readInt16LE(2 * index));
}

function difference(found: Int16Array, expected: Int16Array): number {
  const sum = found.reduce((total, each, index) => total + (each - (expected[index] ?? 0)) ** 2, 0);
  return Math.sqrt(sum / expected.length) / 32_768;
}
