/** /classify and /predict, held against Transformers' own pipeline for classifiers. */
import { describe, expect, it, test } from 'vitest';
import { CachedEncoder } from '../../../src/front/response-cache/cached-encoder.ts';
import { EmbeddingCache } from '../../../src/front/response-cache/embedding-cache.ts';
import { TwoLevelCache } from '../../../src/front/response-cache/two-level-cache.ts';
import { TextModel } from '../../../src/front/embedding/text-model.ts';
import { LIMITS } from '../../../src/limits.ts';
import { labelsOf } from '../../../src/model/encoder/encoder-labels.ts';
import { CLASSIFIERS, encoderReference } from '../../encoder/support/encoders.ts';
import { errorOf, post } from '../support/client.ts';
import { servingOf } from '../support/serving-encoders.ts';
import { useEncoders } from '../support/stateless-models.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();
const encoders = useEncoders();

interface Classified {
  readonly data: readonly { index: number; label: string; probs: number[]; num_classes: number }[];
  readonly usage: object;
}

type Predicted = readonly { readonly score: number; readonly label: string }[];

async function referenceOf(name: string) {
  const { texts, ids, vectors, probs, labels, pair = ['', ''] } = await encoderReference(name);
  // An empty text is none over HTTP.
  const isThere = (_row: unknown, index: number) => texts[index] !== '' && index < texts.length;
  return {
    texts: texts.filter(isThere),
    ids: ids.filter(isThere),
    logits: vectors.filter(isThere),
    probs: probs.filter(isThere),
    ofPair: probs.at(-1) ?? [],
    pair,
    labels,
  };
}

function near(row: readonly number[]): unknown[] {
  return row.map((value) => expect.closeTo(value, 4));
}

describe.each(CLASSIFIERS)('%s', (name) => {
  it('labels texts as Transformers does', async () => {
    const { texts, logits, probs, ids, labels } = await referenceOf(name);
    const target = await server(servingOf(await encoders.encoder('m', name)));
    const ask = async (body: object) => {
      const response = await post(target, '/classify', { truncate_prompt_tokens: -1, ...body });
      expect(response.status).toBe(200);
      return (await response.json()) as Classified;
    };
    const { data, usage } = await ask({ input: texts });
    const numTokens = ids.flat().length;
    expect(usage).toEqual({ prompt_tokens: numTokens, total_tokens: numTokens });
    expect(data).toEqual(
      probs.map((row, index) => ({
        index,
        label: labels[row.indexOf(Math.max(...row))],
        probs: near(row),
        num_classes: labels.length,
      })),
    );
    const ofTokens = await ask({ input: ids, use_activation: false });
    expect(ofTokens.data.map((each) => each.probs)).toEqual(logits.map(near));
  });

  it('predicts in TEI form, a text, a pair or a list of them, the likeliest first', async () => {
    const { pair, labels, probs, ofPair, texts, logits } = await referenceOf(name);
    const target = await server(servingOf(await encoders.encoder('m', name)));
    const ask = async (inputs: unknown, more = {}) => {
      const response = await post(target, '/predict', { inputs, truncate: true, ...more });
      expect(response.status).toBe(200);
      return response.json();
    };
    const ranked = (row: readonly number[]) =>
      labels
        .map((label, index) => ({
          label,
          score: expect.closeTo(row[index] ?? 0, 4),
          at: row[index] ?? 0,
        }))
        .toSorted((a, b) => b.at - a.at)
        .map(({ label, score }) => ({ score, label }));
    const [first = ''] = texts;
    expect(await ask(first)).toEqual(ranked(probs[0] ?? []));
    expect(await ask([first])).toEqual(ranked(probs[0] ?? []));
    expect(await ask(pair)).toEqual(ranked(ofPair));
    const many = (await ask([...texts.map((text) => [text]), pair])) as Predicted[];
    expect(many).toEqual([...probs, ofPair].map(ranked));
    expect(await ask(first, { raw_scores: true })).toEqual(ranked(logits[0] ?? []));
  });
});

test('a model without labels says so, and one with too many for an answer', async () => {
  const plain = await encoders.encoder('plain', 'bert');
  const wide = await encoders.encoder('wide', 'bert-classifier');
  const names = Array.from({ length: 16_384 }, (_, index) => String(index));
  const asked: number[] = [];
  const encoder = {
    ...wide.encoder,
    labels: { names, activation: 'softmax' as const },
    classify: (inputs: readonly unknown[]) => {
      asked.push(inputs.length);
      return Promise.reject(new Error('it works'));
    },
  };
  const target = await server(servingOf(plain, { ...wide, encoder: encoder as never }));
  for (const path of ['/classify', '/predict']) {
    const body = { model: 'plain', input: 'a', inputs: 'a' };
    const error = await errorOf(await post(target, path, body), 400);
    expect(error.message).toContain('no labels to classify texts with');
  }
  const input = Array.from({ length: LIMITS.encoderTexts }, () => 'a');
  const inputs = input.map((text) => [text]);
  for (const path of ['/classify', '/predict']) {
    const error = await errorOf(await post(target, path, { model: 'wide', input, inputs }), 400);
    expect(error.message).toContain(`${LIMITS.tensorOutputBytes} are the most`);
  }
  expect(asked).toEqual([]);
  const many = [...inputs, ['a']];
  await errorOf(await post(target, '/predict', { model: 'wide', inputs: many }), 400);
});

test.each([[[]], [['a', 'b', 'c']], [[['a'], 'b', 3]], [[[]]], [{}], [3], [undefined]])(
  '/predict refuses %j',
  async (inputs) => {
    const target = await server(servingOf(await encoders.encoder('m', 'bert-classifier')));
    expect((await errorOf(await post(target, '/predict', { inputs }), 400)).param).toBe('inputs');
  },
);

test('a model that generates text labels none', async () => {
  const target = await server();
  const error = await errorOf(await post(target, '/classify', { input: 'a' }), 400);
  expect(error.message).toContain('no labels to classify texts with');
});

test('logits of texts are kept as vectors are, those of pairs are not', async () => {
  const { encoder } = await encoders.encoder('m', 'bert-classifier');
  if (!(encoder instanceof TextModel)) throw new Error('no text model');
  const cache = new EmbeddingCache(
    new TwoLevelCache({ maxBytes: 2 ** 20, maxEntryBytes: 2 ** 20, ttlMs: 60_000 }),
  );
  const cached = new CachedEncoder(encoder, cache, 'build');
  const caller = { client: '', signal: new AbortController().signal };
  const first = await cached.classify(['the cat', 'a dog'], {}, caller);
  const again = await cached.classify(['a dog', 'the cat'], {}, caller);
  expect(again.vectors).toEqual(first.vectors.toReversed());
  expect(again.numTokens).toBe(first.numTokens);
  expect(cache.counts).toMatchObject({ misses: 2 });
  await cached.classify([['the cat', 'a dog']], {}, caller);
  expect(cache.counts).toMatchObject({ misses: 2 });
});

test.each([
  [{}, 2, 'softmax'],
  [{ num_labels: 1 }, 1, 'sigmoid'],
  [{ num_labels: 3, problem_type: 'multi_label_classification' }, 3, 'sigmoid'],
  [{ num_labels: 1, problem_type: 'regression' }, 1, 'identity'],
  [{ sentence_transformers: { activation_fn: 'torch.nn.modules.linear.Identity' } }, 2, 'identity'],
])('labels of %j', (config, count, activation) => {
  const labels = labelsOf(config);
  expect(labels).toMatchObject({ activation, names: { length: count } });
  expect(labels.names[0]).toBe('LABEL_0');
});
