/** Models that llama.cpp's own converter made of the families' checkpoints: see scripts/references. */
import { readdirSync } from 'node:fs';

import { afterAll, expect, it } from 'vitest';

import { argmax } from '../../src/engine/sampling/argmax.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { deviation, readReferences, Text } from '../support/family-text.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const FIXTURES = 'test/fixtures/gguf';
const names = readdirSync(FIXTURES).map((file) => file.replace(/\.gguf$/, ''));

const cache = await temporaryCache();
afterAll(() => cache.remove());

it.each(names)('%s gives the logits and greedy tokens of Transformers', async (name) => {
  // Files of one model in several forms.
  const [family = ''] = name.split('+');
  for (const { ids, greedy, maxModelLen, logitsAt } of await readReferences(family)) {
    const model = await prepareModel(
      { kind: 'folder', path: `${FIXTURES}/${name}.gguf` },
      { precision: 'fp32', maxModelLen, cacheDirectory: cache.path },
    );
    const text = new Text(model, maxModelLen);
    let logits = text.extend(ids);
    expect(deviation(logits, logitsAt(ids.length))).toBeLessThan(1e-5);
    const tokens: number[] = [];
    while (tokens.length < greedy.length) {
      tokens.push(argmax(logits));
      logits = text.extend(tokens.slice(-1));
    }
    expect(tokens).toEqual(greedy);
    expect(deviation(logits, logitsAt(ids.length + greedy.length))).toBeLessThan(1e-5);
    text.release();
  }
});
