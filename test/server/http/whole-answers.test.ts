/** JSON in pieces: the same text as JSON.stringify makes. */
import { describe, expect, it } from 'vitest';
import { ollamaEmbedAnswer } from '../../../src/server/embeddings/answers.ts';
import { jsonPieces } from '../../../src/server/http/json-pieces.ts';
import type { JsonObject } from '../../../src/server/json-object.ts';

const logprob = (at: number) => ({
  token: `"${at}`,
  logprob: -at / 7,
  bytes: [34, 49],
  top_logprobs: Array.from({ length: 20 }, (_, place) => ({ token: `t${place}`, logprob: -place })),
});

const answer = (numTokens: number): JsonObject => ({
  id: 'chat-1',
  choices: [
    {
      index: 0,
      message: { content: 'é"\n', refusal: null, nothing: undefined },
      logprobs: { content: Array.from({ length: numTokens }, (_, at) => logprob(at)) },
    },
  ],
  prompt_logprobs: [null, { 12: { logprob: -1, rank: 1 } }, undefined],
  empty: [{}, []],
  flag: true,
  nothing: undefined,
});

describe('an object', () => {
  it('that is small is one piece', () => {
    expect([...jsonPieces(answer(2))]).toEqual([JSON.stringify(answer(2))]);
    expect([...jsonPieces({})]).toEqual(['{}']);
  });

  it('with thousands of log-probabilities comes in pieces of a few of them', () => {
    const pieces = [...jsonPieces(answer(2000))];
    expect(pieces.join('')).toBe(JSON.stringify(answer(2000)));
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(2 ** 15);
  });
});

it("Ollama's answer of vectors comes in pieces", () => {
  const vectors = Array.from({ length: 64 }, (_, at) => new Float32Array(1024).fill(at / 3));
  const rest = { total_duration: 5, load_duration: 0, prompt_eval_count: 3 };
  const pieces = [...ollamaEmbedAnswer({ vectors }, 'm"', rest)];
  expect(pieces.join('')).toBe(
    JSON.stringify({ model: 'm"', embeddings: vectors.map((vector) => [...vector]), ...rest }),
  );
  expect(pieces.length).toBeGreaterThan(7);
});
