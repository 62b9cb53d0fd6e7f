/** /models/{model} for labels of the request, held against Transformers' pipeline. */
import { describe, expect, it, test } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { zeroShotScores } from '../../../src/server/embeddings/zero-shot.ts';
import { familyFolder, familyReference } from '../../encoder/support/encoder-families.ts';
import { errorOf, post } from '../support/client.ts';
import { servingOf } from '../support/serving-encoders.ts';
import { useEncoders } from '../support/stateless-models.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();
const encoders = useEncoders();

type Told = readonly { readonly label: string; readonly score: number }[];

async function inference() {
  return await server(
    servingOf(await encoders.encoderIn('org/nli', () => familyFolder('bert', 'labels'))),
  );
}

describe('/models/{model}', () => {
  it('scores labels as Transformers does, each in place of the others or by itself', async () => {
    const { zeroShot } = await familyReference('bert');
    if (zeroShot === undefined) throw new Error('no reference');
    const { texts, labels, template } = zeroShot;
    const target = await inference();
    for (const [how, isMulti] of [
      ['single', false],
      ['multi', true],
    ] as const) {
      const parameters = {
        candidate_labels: labels,
        hypothesis_template: template,
        multi_label: isMulti,
      };
      const response = await post(target, '/models/org/nli', { inputs: texts, parameters });
      expect(response.status).toBe(200);
      const told = (await response.json()) as Told[];
      for (const [at, wanted] of zeroShot[how].entries()) {
        const own = told[at] ?? [];
        const byLabel = labels.map((label) => own.find((each) => each.label === label)?.score);
        expect(byLabel).toEqual(wanted.map((score) => expect.closeTo(score, 4)));
        expect(own.map(({ score }) => score)).toEqual(
          wanted.toSorted((a, b) => b - a).map((score) => expect.closeTo(score, 4)),
        );
      }
      const one = await post(target, '/models/org/nli', { inputs: texts[0], parameters });
      expect(await one.json()).toEqual(told[0]);
    }
  });

  it('cuts the text and never the label', async () => {
    const target = await inference();
    const ask = (inputs: string, label: string) =>
      post(target, '/models/org/nli', { inputs, parameters: { candidate_labels: [label, 'dog'] } });
    const long = await ask('the cat sat on the mat '.repeat(20), 'cat');
    expect(long.status).toBe(200);
    await errorOf(await ask('a', 'far '.repeat(40)), 400);
  });

  it.each([
    [{}],
    [{ candidate_labels: [] }],
    [{ candidate_labels: ['a', ' '] }],
    [{ candidate_labels: 'a,,b' }],
    [{ candidate_labels: Array.from({ length: LIMITS.encoderTexts + 1 }, () => 'a') }],
    [{ candidate_labels: ['a'], hypothesis_template: 'no label' }],
    [{ candidate_labels: ['a'], hypothesis_template: '{} and {}' }],
    [{ candidate_labels: ['a'], hypothesis_template: '{} {0}' }],
    [{ candidate_labels: ['a'], multi_label: 'yes' }],
  ])('refuses %j', async (parameters) => {
    await errorOf(
      await post(await inference(), '/models/org/nli', { inputs: 'a', parameters }),
      400,
    );
  });

  it('bounds texts times labels', async () => {
    const target = await inference();
    const many = (count: number) => Array.from({ length: count }, (_, at) => `label ${at}`);
    const body = { inputs: many(33), parameters: { candidate_labels: many(64) } };
    const error = await errorOf(await post(target, '/models/org/nli', body), 400);
    expect(error.message).toContain('are 2112 pairs');
  });
});

test('models that infer nothing are refused, and others are not found', async () => {
  const target = await server(servingOf(await encoders.encoder('mood', 'bert-classifier')));
  const body = { inputs: 'a', parameters: { candidate_labels: ['a'] } };
  const error = await errorOf(await post(target, '/models/mood', body), 400);
  expect(error.message).toContain('begins with `entail`');
  await errorOf(await post(target, '/models/other', body), 404);
});

test('what contradicts is the last label where the first one is entailment', () => {
  const logits = [Float32Array.of(1, 5, 1)];
  expect(zeroShotScores(logits, { entailment: 0, contradiction: 2 }, true)).toEqual([0.5]);
});
