/** GGUF files of families whose layers have states, by llama.cpp's converter. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import { inspectGguf } from '../../../src/model/gguf/gguf-checkpoint.ts';
import type { DecoderConfig } from '../../../src/model/huggingface/config.ts';
import {
  deviation,
  HYBRID_FIXTURES,
  HYBRID_GGUF,
  readReferences,
} from '../../support/family-text.ts';
import { everyOrLong } from '../../support/long-runs.ts';
import { StateRun } from '../../support/state-run.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const names = readdirSync(HYBRID_GGUF)
  .toSorted()
  .map((file) => file.replace(/\.gguf$/, ''));

/** Parts that do not depend on how a configuration is written; numbers as float32. */
function comparable({ family, recurrence, ...config }: DecoderConfig) {
  const rounded = (of: object) =>
    Object.entries(of).map(([key, value]: [string, unknown]) => [
      key,
      typeof value === 'number' ? Number(value.toPrecision(6)) : value,
    ]);
  // Some files have more positions than their checkpoint.
  const ofFile = { ...config, maxPositionEmbeddings: 64, multipliers: undefined };
  // Files have a model's own factors in their weights.
  if (config.multipliers) Object.assign(ofFile, { embeddingScale: 1, logitScale: 1 });
  return [family.modelType, rounded(ofFile), rounded(recurrence ?? {})];
}

describe.each(everyOrLong(3, names))('%s', (name) => {
  // Files of one model in several forms.
  const [family = ''] = name.split('+');
  const folder = join(HYBRID_FIXTURES, family);
  const path = join(HYBRID_GGUF, `${name}.gguf`);

  test('has the configuration', async () => {
    const expected = await inspectModelFolder(folder);
    if (expected.kind !== 'huggingface') throw new TypeError('a folder of safetensors');
    expect(comparable((await inspectGguf(path)).config)).toEqual(comparable(expected.config));
  });

  test('gives the logits and greedy tokens of Transformers', async () => {
    for (const { ids, greedy, maxModelLen, logitsAt } of await readReferences(
      family,
      HYBRID_FIXTURES,
    )) {
      const model = await prepareModel(
        { kind: 'folder', path },
        { precision: 'fp32', maxModelLen, cacheDirectory: cache.path },
      );
      const run = new StateRun(model, 1, maxModelLen, 2);
      onTestFinished(() => run.release());
      const { tokens, first, last } = run.continue(ids, greedy.length);
      expect(tokens).toEqual(greedy);
      expect(deviation(first, logitsAt(ids.length))).toBeLessThan(1e-5);
      expect(deviation(last, logitsAt(ids.length + greedy.length))).toBeLessThan(1e-5);
    }
  });
});
