/** A decoder that is computed layer by layer is the one that is served. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { parseDecoderConfig } from '../../src/model/huggingface/config.ts';
import { inspectModelFolder } from '../../src/model/folder/model-folder.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { RandomWeights } from '../../src/model/huggingface/random-weights.ts';
import { LayerwiseDecoder } from '../../src/optimize/calibration/layerwise-decoder.ts';
import { FAMILY_FIXTURES, LAYERWISE_FAMILIES } from '../support/families.ts';
import { OneText } from '../support/one-text.ts';

const scratch = await mkdtemp(join(tmpdir(), 'chairlift-test-'));
afterAll(() => rm(scratch, { recursive: true, force: true }));

const idsSchema = z.array(z.object({ ids: z.array(z.number()), max_model_len: z.number() }));

describe.each(LAYERWISE_FAMILIES)('%s', (name) => {
  test('texts are as likely as to the decoder that is served', async () => {
    const path = join(FAMILY_FIXTURES, name);
    const reference = await readFile(join(path, 'reference.json'), 'utf8');
    const [first] = idsSchema.parse(JSON.parse(reference));
    const ids = first?.ids ?? [];
    const maxModelLen = first?.max_model_len ?? 0;
    const folder = await inspectModelFolder(path, maxModelLen);
    if (folder.kind !== 'huggingface') throw new Error(`${path} has no weights`);
    const { config } = folder;
    const weights = await folder.open();
    const decoder = new LayerwiseDecoder(
      { config, weights },
      { longest: ids.length, folder: scratch, threads: 1 },
    );
    // Twice the same, so that texts can be seen to be apart.
    const texts = [Int32Array.from(ids), Int32Array.from(ids)];
    let hidden = await decoder.embed(texts);
    for (let layer = 0; layer < config.numLayers; layer++) {
      ({ hidden } = await decoder.layer(layer, hidden));
    }
    const { nats, tokens } = await decoder.negativeLogLikelihood(texts, hidden);
    await weights.close();
    expect(tokens).toBe(2 * (ids.length - 1));

    const options = { precision: 'fp32', cacheDirectory: scratch, maxModelLen } as const;
    const text = new OneText(await prepareModel({ kind: 'folder', path }, options), maxModelLen);
    let expected = 0;
    for (const [index, id] of ids.entries()) {
      const logits = text.extend([id]);
      const next = ids[index + 1];
      if (next !== undefined) expected += negativeLogLikelihood(logits, next);
    }
    text.release();
    expect(nats / 2 / expected).toBeCloseTo(1, 5);
  });
});

function negativeLogLikelihood(logits: Float32Array, token: number): number {
  const most = Math.max(...logits);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - most), 0);
  return most + Math.log(sum) - (logits[token] ?? NaN);
}

describe('statistics', () => {
  const config = parseDecoderConfig(PRESETS.tiny, 'tiny');
  const weights = new RandomWeights(5);
  const decoder = new LayerwiseDecoder(
    { config, weights },
    { longest: 8, folder: scratch, threads: 1 },
  );
  const texts = [Int32Array.of(3, 141, 59, 26), Int32Array.of(53, 58)];
  const size = config.hiddenSize;

  test('are sums over the inputs of a linear layer in all texts', async () => {
    const before = await decoder.embed(texts);
    const of = (kind: 'gram' | 'squares' | 'magnitudes') =>
      ({ linear: 'attention.qkv', kind }) as const;
    const { statistics } = await decoder.layer(0, before, [
      of('gram'),
      of('squares'),
      of('magnitudes'),
    ]);
    // The norm's weights are 1.
    const inputs = before.flatMap((text) =>
      Array.from({ length: text.length / size }, (_, token) => {
        const row = text.slice(token * size, (token + 1) * size);
        const square = row.reduce((sum, value) => sum + value * value, 0) / size;
        return row.map((value) => value / Math.sqrt(square + config.rmsNormEps));
      }),
    );
    expect(inputs).toHaveLength(6);
    const sum = (value: (row: Float32Array) => number) =>
      inputs.reduce((total, row) => total + value(row), 0);
    for (const [i, j] of [
      [0, 0],
      [3, 17],
      [63, 2],
    ] as const) {
      const expected = sum((row) => (row[i] ?? 0) * (row[j] ?? 0));
      expect(statistics.of(of('gram'))[i * size + j]).toBeCloseTo(expected, 4);
      const magnitude = sum((row) => Math.abs(row[i] ?? 0));
      expect(statistics.of(of('magnitudes'))[i]).toBeCloseTo(magnitude, 4);
      const square = sum((row) => (row[i] ?? 0) ** 2);
      expect(statistics.of(of('squares'))[i]).toBeCloseTo(square, 4);
    }
  });

  test('the error is what the hidden state after the layer lacks', async () => {
    const before = await decoder.embed(texts);
    const { hidden } = await decoder.layer(0, before);
    const targets = hidden.map((text) => text.map((value) => value + 0.5));
    const watched = { linear: 'mlp.down', kind: 'error' } as const;
    const { statistics } = await decoder.layer(0, before, [watched], targets);
    const errors = statistics.of(watched);
    expect(errors).toHaveLength((config.intermediateSizes[0] ?? 0) * size);
    // Half of the sum of a channel, for every dimension.
    const first = errors.subarray(0, size);
    expect(Math.max(...first) - Math.min(...first)).toBeLessThan(1e-4);
    const gram = { linear: 'mlp.down', kind: 'gram' } as const;
    await expect(decoder.layer(9, before, [gram])).rejects.toThrow(/no layer/);
    expect(() => statistics.of(gram)).toThrow(/was not watched/);
  });
});
