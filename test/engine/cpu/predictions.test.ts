/** Modules that predict, against the wiring of vLLM over layers of Transformers. */
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CpuDecoder } from '../../../src/engine/cpu/cpu-decoder.ts';
import { argmax } from '../../../src/engine/sampling/argmax.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { type Segment, segmentOf } from '../../../src/engine/step.ts';
import type { ModelSource } from '../../../src/model/build/model-source.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import type { KvCacheDtype, Precision } from '../../../src/model/manifest.ts';
import { readExternalInitializers } from '../../../src/onnx/external-initializers.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { deviation, Text } from '../../support/family-text.ts';
import { PREDICTION_FIXTURES, readPredictions } from '../../support/predictions.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const NAMES = readdirSync(PREDICTION_FIXTURES).toSorted();
/** The same checkpoints, where GGUF files have modules of their family. */
const GGUF_FIXTURES = 'test/fixtures/predictions-gguf';

const sourceOf = (name: string) =>
  ({ kind: 'folder', path: join(PREDICTION_FIXTURES, name) }) as const;

/** A decoder, and the hidden states that it gave of a text in chunks. */
async function open(
  name: string,
  precision: Precision,
  kvCacheDtype?: KvCacheDtype,
  source: ModelSource = sourceOf(name),
) {
  const { maxModelLen, text, known } = await readPredictions(name);
  const model = await prepareModel(source, {
    precision,
    maxModelLen,
    predicts: true,
    cacheDirectory: cache.path,
    ...(kvCacheDtype && { nativeKernels: { kvCacheDtype } }),
  });
  const decoder = new CpuDecoder(model, { numSlots: 2, maxModelLen });
  const { prediction } = decoder;
  if (prediction === null) throw new Error('no module was built');
  const rows: Float32Array[] = [];
  prediction.follow({
    take({ start, numTokens }: Segment, hidden) {
      const width = hidden.length / numTokens;
      for (let at = 0; at < numTokens; at++) {
        rows[start + at] = hidden.slice(at * width, (at + 1) * width);
      }
    },
  });
  const sequence = new Sequence(engineRequest({ promptTokenIds: Int32Array.from(text) }));
  sequence.slot = 1;
  for (let start = 0; start < text.length;) {
    // Chunks, and at the end tokens alone.
    const wanted = start < 20 ? 7 : 1;
    const segment = segmentOf(sequence, wanted, start);
    decoder.execute({ cacheOperations: [], segments: [{ ...segment, numLogits: 1 }] });
    start += segment.numTokens;
  }
  /** Predictions after the first `length` tokens, whose positions are computed in chunks of `size`. */
  const predict = (length: number, numTokens: number, size: number) => {
    const tokens = text.slice(0, length);
    let last;
    let start = 0;
    while (start < length - 1) {
      const end = Math.min(start + size, length - 1);
      const tokenIds = Int32Array.from(tokens.slice(start + 1, end + 1));
      const hidden = Float32Array.from(rows.slice(start, end).flatMap((row) => [...row]));
      last = prediction.run({ slot: 1, start, tokenIds, hidden });
      start = end;
    }
    const logits = last?.logits.slice() ?? new Float32Array();
    while (last) {
      tokens.push(argmax(last.logits));
      if (tokens.length === length + numTokens) break;
      const tokenIds = Int32Array.of(tokens.at(-1) ?? 0);
      last = prediction.run({ slot: 1, start: start++, tokenIds, hidden: last.hidden.slice() });
    }
    return { logits, tokens: tokens.slice(length) };
  };
  return { predict, known, release: () => decoder.release() };
}

describe.each(NAMES)('%s', (name) => {
  it('predicts what the reference predicts, however positions are computed', async () => {
    const { predict, known, release } = await open(name, 'fp32');
    for (const { length, tokens, logits } of known) {
      for (const size of [length, 5, 1]) {
        const predicted = predict(length, tokens.length, size);
        expect(deviation(predicted.logits, logits)).toBeLessThan(1e-5);
        expect(predicted.tokens).toEqual(tokens);
      }
    }
    release();
  });

  it.each(['float32', 'int8'] as const)(
    'predicts nearly that in int8 with a cache of %s',
    async (kvCacheDtype) => {
      const { predict, known, release } = await open(name, 'int8', kvCacheDtype);
      const deviations = known.map(({ length, logits }) =>
        deviation(predict(length, 1, 5).logits, logits),
      );
      // Rounding may have a router pick another expert, once.
      const [, second = NaN] = deviations.toSorted((a, b) => b - a);
      expect(second).toBeLessThan(0.15);
      release();
    },
  );

  it('has embeddings and LM head of the model, and no copies of them', async () => {
    const source = sourceOf(name);
    const options = { precision: 'fp32', predicts: true, cacheDirectory: cache.path } as const;
    const { predictionGraphPath, weightsFolder } = await prepareModel(source, options);
    const weights = readExternalInitializers(predictionGraphPath ?? '', weightsFolder);
    const shared = weights.filter(({ path }) => basename(path) === 'decoder.onnx.data');
    expect(shared.map((weight) => weight.name)).toEqual(
      expect.arrayContaining(['model.embed_tokens.weight', 'lm_head.weight']),
    );
    expect(weights.length).toBeGreaterThan(shared.length);
  });

  it('leaves the logits of the model as they are without it', async () => {
    const { text, maxModelLen } = await readPredictions(name);
    const source = sourceOf(name);
    const options = { precision: 'int8', maxModelLen, cacheDirectory: cache.path } as const;
    const nativeKernels = { kvCacheDtype: 'float32' } as const;
    const [plain, predicting] = await Promise.all(
      [false, true].map(async (predicts) => {
        const model = await prepareModel(source, { ...options, nativeKernels, predicts });
        const one = new Text(model, maxModelLen);
        const logits = [one.extend(text.slice(0, 9)), one.extend(text.slice(9, 10))];
        one.release();
        return logits;
      }),
    );
    expect(predicting).toEqual(plain);
  });
});

it.each(readdirSync(GGUF_FIXTURES))('%s predicts what the reference predicts', async (file) => {
  const source = { kind: 'folder', path: join(GGUF_FIXTURES, file) } as const;
  const { predict, known, release } = await open(
    basename(file, '.gguf'),
    'fp32',
    undefined,
    source,
  );
  for (const { length, tokens, logits } of known) {
    const predicted = predict(length, tokens.length, 5);
    expect(deviation(predicted.logits, logits)).toBeLessThan(1e-5);
    expect(predicted.tokens).toEqual(tokens);
  }
  release();
});

it('is refused where there is none', async () => {
  const options = { precision: 'fp32', predicts: true, cacheDirectory: cache.path } as const;
  const build = (path: string) => prepareModel({ kind: 'folder', path }, options);
  await expect(build('test/fixtures/families/llama')).rejects.toThrow(
    'has no multi-token prediction',
  );
  await expect(build('test/fixtures/families/glm4-moe')).rejects.toThrow(
    "can't be read: leave out --speculative mtp (",
  );
});
