import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import {
  parseEmbeddings,
  parseRerank,
  parseScore,
  parseTeiEmbed,
  parseTeiRerank,
} from '../../../src/server/embeddings/bodies.ts';

describe('an embeddings body', () => {
  it.each([
    ['a text', 'cat', ['cat']],
    ['texts', ['cat', 'dog'], ['cat', 'dog']],
    ['tokens', [1, 2], [Int32Array.of(1, 2)]],
    ['lists of tokens', [[1, 2], [3]], [Int32Array.of(1, 2), Int32Array.of(3)]],
  ])('takes %s', (_what, input, inputs) => {
    expect(parseEmbeddings({ input }).inputs).toEqual(inputs);
    expect(parseTeiEmbed({ inputs: input }).inputs).toEqual(inputs);
  });

  it('keeps its parameters', () => {
    const body = { model: 'm', input: 'cat', encoding_format: 'base64', dimensions: 64 };
    expect(parseEmbeddings(body)).toEqual({
      model: 'm',
      inputs: ['cat'],
      encoding_format: 'base64',
      dimensions: 64,
    });
  });

  it.each([
    [{}, '`input` is required.'],
    [{ input: [] }, '`input` must not be empty.'],
    [{ input: '' }, '`input` must not be empty.'],
    [{ input: ['cat', ''] }, '`input.1` must not be empty.'],
    [{ input: [[1, -1]] }, '`input.0.1`: expected a token id, a whole number from 0.'],
    [{ input: { text: 'cat' } }, '`input`: expected a string or a list of token ids.'],
    [{ input: 'cat', dimensions: 0 }, /^`dimensions`: /],
    [{ input: 'cat', encoding_format: 'int8' }, /^`encoding_format`: /],
    [[], 'The request body must be a JSON object.'],
  ])('%o is refused', (body, message) => {
    expect(() => parseEmbeddings(body)).toThrow(message);
  });

  it('has so many texts at most', () => {
    const input = Array.from({ length: LIMITS.encoderTexts + 1 }, () => 'cat');
    expect(() => parseEmbeddings({ input })).toThrow('comes to 2049 sequences');
    const body = { query: 'cat', documents: input };
    expect(() => parseRerank(body)).toThrow('`documents`: expected a list of at most 2048 items.');
  });
});

describe('a reranking body', () => {
  it('takes documents as texts and as objects', () => {
    const body = { query: 'who', documents: ['cat', { text: 'dog', id: 1 }], top_n: 1 };
    expect(parseRerank(body)).toEqual({ query: 'who', documents: ['cat', 'dog'], top_n: 1 });
    expect(parseTeiRerank({ query: 'who', texts: ['cat'], raw_scores: true })).toEqual({
      query: 'who',
      texts: ['cat'],
      raw_scores: true,
    });
  });

  it.each([
    [{ documents: ['cat'] }, '`query` is required.'],
    [{ query: 'who' }, '`documents`'],
    [{ query: 'who', documents: [] }, '`documents`: expected at least one document.'],
    [{ query: 'who', documents: [1] }, '`documents.0`: expected a text or an object with one.'],
    [{ query: 'who', documents: ['cat'], top_n: 0 }, /^`top_n`: /],
  ])('%o is refused', (body, message) => {
    expect(() => parseRerank(body)).toThrow(message);
  });
});

describe('a scoring body', () => {
  it.each([
    ['one with one', { queries: 'a', documents: 'b' }, [['a', 'b']]],
    [
      'one with many',
      { text_1: 'a', text_2: ['b', 'c'] },
      [
        ['a', 'b'],
        ['a', 'c'],
      ],
    ],
    [
      'many with as many',
      { queries: ['a', 'b'], documents: ['c', 'd'] },
      [
        ['a', 'c'],
        ['b', 'd'],
      ],
    ],
  ])('pairs %s', (_what, body, pairs) => {
    expect(parseScore(body).pairs).toEqual(pairs);
  });

  it('is refused where there are not as many', () => {
    expect(() => parseScore({ queries: ['a', 'b'], documents: ['c'] })).toThrow(
      '`documents`: there are 1 for 2 queries; expected one query, or as many.',
    );
    expect(() => parseScore({ queries: 'a' })).toThrow('`documents` is required.');
  });
});
