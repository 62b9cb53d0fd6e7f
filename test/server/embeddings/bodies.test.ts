import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { parseTeiEmbed } from '../../../src/server/embeddings/bodies.ts';
import { parseRerank, parseTeiRerank } from '../../../src/server/embeddings/rerank-body.ts';
import { parseEmbeddings } from '../../../src/server/embeddings/embeddings-body.ts';
import { parseScore } from '../../../src/server/embeddings/score-body.ts';

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

  it('takes images in the forms that clients have for them', () => {
    const url = 'data:image/png;base64,AAAA';
    const source = { type: 'url', url } as const;
    const image = (field: string, more = {}) => ({
      type: 'image',
      detail: 'auto',
      source,
      field,
      ...more,
    });
    const base64 = { source: { type: 'base64', data: 'AAAA' } };
    const input = [
      'cat',
      { text: 'dog' },
      [1, 2],
      { image: url },
      { image: 'AAAA' },
      { image_url: url },
    ];
    expect(parseEmbeddings({ input }).inputs).toEqual([
      'cat',
      'dog',
      Int32Array.of(1, 2),
      image('input.3.image'),
      image('input.4.image', base64),
      image('input.5.image_url'),
    ]);
    expect(parseEmbeddings({ input: { image: url } }).inputs).toEqual([image('input.image')]);
    const part = { type: 'image_url', image_url: { url, detail: 'low' } };
    expect(parseEmbeddings({ messages: [{ role: 'user', content: [part] }] }).inputs).toEqual([
      image('messages.0.content.0.image_url', { detail: 'low' }),
    ]);
    expect(parseEmbeddings({ messages: [{ role: 'user', content: 'cat' }] }).inputs).toEqual([
      'cat',
    ]);
    expect(parseEmbeddings({ input: [url, 'AAAA'], modality: 'image' }).inputs).toEqual([
      image('input.0'),
      image('input.1', base64),
    ]);
  });

  it('keeps its parameters', () => {
    const body = { model: 'm', input: 'cat', encoding_format: 'base64', dimensions: 64 };
    expect(parseEmbeddings(body)).toEqual({
      model: 'm',
      inputs: ['cat'],
      encoding_format: 'base64',
      dimensions: 64,
      isChat: false,
    });
  });

  it.each([
    [{}, '`input` is required.'],
    [{ input: [] }, '`input` must not be empty.'],
    [{ input: '' }, '`input` must not be empty.'],
    [{ input: ['cat', ''] }, '`input.1` must not be empty.'],
    [{ input: [[1, -1]] }, '`input.0.1`: expected a token id, a whole number from 0.'],
    [{ input: [5, 'cat'] }, '`input.1`: expected a token id, a whole number from 0.'],
    [{ input: { text: '' } }, '`input` must not be empty.'],
    [{ input: ['cat', {}] }, '`input.1`: expected one of `text`, `image` and `image_url`.'],
    [{ input: [{ text: 'cat', image: 'AAAA' }] }, '`input.0`: expected one of `text`'],
    [{ input: [{ text: 'cat' }, 5] }, '`input.1`: expected a string or a list of token ids.'],
    [{ input: [{ text: 'cat' }, ['a', 'b']] }, '`input.1`: expected one input.'],
    [{ input: [{ content: [] }] }, '`input.0.content`: expected one text or one image.'],
    [{ messages: [] }, '`messages`: expected one message.'],
    [{ messages: [{ content: '' }] }, '`messages.0.content` must not be empty.'],
    [{ input: 'cat', messages: [{ content: 'cat' }] }, '`messages`: expected these or `input`'],
    [{ input: 'cat', modality: 'audio' }, /^`modality`: /],
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

  it('takes images as Jina and vLLM have them', () => {
    const imageAt = (field: string): unknown => expect.objectContaining({ type: 'image', field });
    const image = { image: 'aGk=' };
    expect(parseRerank({ query: image, documents: ['cat', image] })).toEqual({
      query: imageAt('query.image'),
      documents: ['cat', imageAt('documents.1.image')],
    });
    const part = { type: 'image_url', image_url: { url: 'data:,' } };
    const content = [part, { type: 'text', text: 'dog' }];
    expect(parseRerank({ query: { content: [part] }, documents: { content } })).toEqual({
      query: imageAt('query.content.0.image_url'),
      documents: [imageAt('documents.content.0.image_url'), 'dog'],
    });
    expect(parseTeiRerank({ query: 'who', texts: [image] }).texts).toEqual([
      imageAt('texts.0.image'),
    ]);
  });

  it.each([
    [{ documents: ['cat'] }, '`query` is required.'],
    [{ query: {}, documents: ['cat'] }, '`query`'],
    [{ query: 'who', documents: { content: [] } }, '`documents.content`: expected at least'],
    [{ query: 'who' }, '`documents`'],
    [{ query: 'who', documents: [] }, '`documents`: expected at least one document.'],
    [
      { query: 'who', documents: [1] },
      '`documents.0`: expected a text or an object with one, or with an image.',
    ],
    [{ query: 'who', documents: ['cat'], top_n: 0 }, /^`top_n`: /],
  ])('%o is refused', (body, message) => {
    expect(() => parseRerank(body)).toThrow(message);
  });
});

describe('a scoring body', () => {
  it.each([
    ['one with one', { queries: 'a', documents: 'b' }, [['a'], ['b']]],
    ['one with many', { text_1: 'a', text_2: ['b', { text: '' }] }, [['a'], ['b', '']]],
    [
      'many with as many',
      { data_1: ['a', 'b'], data_2: ['c', { content: [{ type: 'text', text: 'd' }] }] },
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'texts with images',
      { data_1: 'a', data_2: { content: [{ type: 'image_url', image_url: { url: 'x' } }] } },
      [['a'], [expect.objectContaining({ type: 'image', field: 'data_2.content.0.image_url' })]],
    ],
  ])('has two sides, %s', (_what, body, sides) => {
    expect(parseScore(body).sides).toEqual(sides);
  });

  it('is refused where there are not as many', () => {
    expect(() => parseScore({ queries: ['a', 'b'], documents: ['c'] })).toThrow(
      '`documents`: there are 1 for 2 queries; expected one query, or as many.',
    );
    expect(() => parseScore({ queries: 'a' })).toThrow('`documents` is required.');
  });
});
