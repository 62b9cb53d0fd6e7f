/** Against Transformers: scripts/references/audio.py wrote its segments of drawn tokens. */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { splitWindow } from '../../../src/front/transcription/window-segments.ts';

interface References {
  readonly noTimestamps: number;
  readonly segments: readonly {
    readonly tokens: readonly number[];
    readonly frames: number;
    readonly segments: readonly (readonly [start: number, end: number])[];
    readonly offset: number;
  }[];
}

const FILE = new URL('../../fixtures/audio/whisper.json', import.meta.url);
const REFERENCES = JSON.parse(await readFile(FILE, 'utf8')) as References;
const FIRST_TIMESTAMP = REFERENCES.noTimestamps + 1;

describe('the segments of a window', () => {
  test.each(REFERENCES.segments)('of $tokens', ({ tokens, frames, segments, offset }) => {
    const split = splitWindow(tokens, FIRST_TIMESTAMP, frames);
    expect(split.advance).toBe(offset);
    const times = split.segments.map(({ start, end: until }) => [rounded(start), rounded(until)]);
    expect(times).toEqual(segments);
  });
});

function rounded(seconds: number): number {
  return Math.round(seconds * 10_000) / 10_000;
}
