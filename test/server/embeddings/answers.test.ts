import { describe, expect, it } from 'vitest';
import {
  embeddingsAnswer,
  rerankAnswer,
  scoreAnswer,
  teiEmbedAnswer,
  teiRerankAnswer,
} from '../../../src/server/embeddings/answers.ts';

const embeddings = { vectors: [Float32Array.of(0.5, -1), Float32Array.of(2, 0)], numTokens: 7 };
const scores = {
  scores: Float32Array.of(0.25, 0.75, 0.5),
  logits: Float32Array.of(-1, 3, 0),
  numTokens: 9,
};
const ids = { id: 'rerank-1', model: 'm' };

function json(pieces: Iterable<string>): unknown {
  return JSON.parse([...pieces].join(''));
}

describe('vectors', () => {
  it("are answered in OpenAI's form", () => {
    expect(json(embeddingsAnswer(embeddings, 'm', 'float'))).toEqual({
      object: 'list',
      data: [
        { object: 'embedding', index: 0, embedding: [0.5, -1] },
        { object: 'embedding', index: 1, embedding: [2, 0] },
      ],
      model: 'm',
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
    expect(json(embeddingsAnswer(embeddings, 'm', 'base64'))).toMatchObject({
      data: [{ embedding: 'AAAAPwAAgL8=' }, { embedding: 'AAAAQAAAAAA=' }],
    });
    expect(json(teiEmbedAnswer(embeddings))).toEqual([
      [0.5, -1],
      [2, 0],
    ]);
  });

  it('are written in pieces where there are many', () => {
    const vectors = Array.from({ length: 100 }, () => new Float32Array(1024).fill(0.125));
    const pieces = [...embeddingsAnswer({ vectors, numTokens: 0 }, 'm', 'float')];
    expect(pieces.length).toBeGreaterThan(12);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(60_000);
    expect(json(pieces)).toMatchObject({ data: { length: 100 } });
    expect(json(embeddingsAnswer({ vectors: [], numTokens: 0 }, 'm', 'float'))).toMatchObject({
      data: [],
    });
  });
});

describe('scores', () => {
  it('are answered with the most relevant documents first', () => {
    const body = { query: 'q', documents: ['a', 'b', 'c'], top_n: 2, return_documents: true };
    expect(rerankAnswer(scores, body, ids)).toEqual({
      id: 'rerank-1',
      model: 'm',
      usage: { prompt_tokens: 9, total_tokens: 9 },
      results: [
        { index: 1, document: { text: 'b' }, relevance_score: 0.75 },
        { index: 2, document: { text: 'c' }, relevance_score: 0.5 },
      ],
    });
    expect(rerankAnswer(scores, { query: 'q', documents: ['a', 'b', 'c'] }, ids).results).toEqual([
      { index: 1, relevance_score: 0.75 },
      { index: 2, relevance_score: 0.5 },
      { index: 0, relevance_score: 0.25 },
    ]);
  });

  it('are answered in the order of the pairs', () => {
    expect(scoreAnswer(scores, { id: 'score-1', model: 'm', created: 5 })).toEqual({
      id: 'score-1',
      object: 'list',
      created: 5,
      model: 'm',
      data: [
        { index: 0, object: 'score', score: 0.25 },
        { index: 1, object: 'score', score: 0.75 },
        { index: 2, object: 'score', score: 0.5 },
      ],
      usage: { prompt_tokens: 9, total_tokens: 9 },
    });
  });

  it("are answered in TEI's form, raw if that is wanted", () => {
    const texts = ['a', 'b', 'c'];
    expect(teiRerankAnswer(scores, { query: 'q', texts })).toEqual([
      { index: 1, score: 0.75 },
      { index: 2, score: 0.5 },
      { index: 0, score: 0.25 },
    ]);
    const raw = { query: 'q', texts, raw_scores: true, return_text: true };
    expect(teiRerankAnswer(scores, raw)[0]).toEqual({ index: 1, score: 3, text: 'b' });
  });
});
