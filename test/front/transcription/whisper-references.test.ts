/** Against Transformers: scripts/references/audio.py wrote what it allows after drawn tokens, and its segments. */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import {
  forbiddenTokens,
  mustBeTimestamp,
} from '../../../src/front/transcription/timestamp-rules.ts';
import { splitWindow } from '../../../src/front/transcription/window-segments.ts';

interface References {
  readonly vocabulary: number;
  readonly end: number;
  readonly noTimestamps: number;
  readonly rules: readonly {
    readonly tokens: readonly number[];
    readonly maxInitial: number | null;
    readonly scores: readonly number[];
    /** By token: 1 where it is allowed. */
    readonly allowed: string;
    readonly withScores: string;
  }[];
  readonly segments: readonly {
    readonly tokens: readonly number[];
    readonly frames: number;
    readonly segments: readonly (readonly [start: number, end: number])[];
    readonly offset: number;
  }[];
}

const FILE = new URL('../../fixtures/audio/whisper.json', import.meta.url);
const REFERENCES = JSON.parse(await readFile(FILE, 'utf8')) as References;
const { vocabulary, end, noTimestamps } = REFERENCES;
const TOKENS = { endOfText: end, noTimestamps, firstTimestamp: noTimestamps + 1 };

describe('the rules of timestamps', () => {
  test.each(REFERENCES.rules)('after $tokens', ({ tokens, maxInitial, scores, ...expected }) => {
    const logits = Float32Array.from(scores);
    for (const [from, to] of forbiddenTokens(tokens, TOKENS, maxInitial)) {
      logits.fill(-Infinity, from, Math.min(to, vocabulary));
    }
    expect(written(logits)).toBe(expected.allowed);
    if (mustBeTimestamp(logits, TOKENS.firstTimestamp)) {
      logits.fill(-Infinity, 0, TOKENS.firstTimestamp);
    }
    expect(written(logits)).toBe(expected.withScores);
  });
});

describe('the segments of a window', () => {
  test.each(REFERENCES.segments)('of $tokens', ({ tokens, frames, segments, offset }) => {
    const split = splitWindow(tokens, TOKENS.firstTimestamp, frames);
    expect(split.advance).toBe(offset);
    const times = split.segments.map(({ start, end: until }) => [rounded(start), rounded(until)]);
    expect(times).toEqual(segments);
  });
});

function written(logits: Float32Array): string {
  return Array.from(logits, (logit) => (logit === -Infinity ? '0' : '1')).join('');
}

function rounded(seconds: number): number {
  return Math.round(seconds * 10_000) / 10_000;
}
