import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';

import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { DecoderRun } from '../support/decoder-run.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const referenceSchema = z.object({
  parameters: z.number(),
  prompts: z
    .array(
      z.object({
        ids: z.array(z.number()),
        top_ids: z.array(z.number()),
        top_logits: z.array(z.number()),
        greedy: z.array(z.number()),
      }),
    )
    .min(1),
});

/** Tokens of each greedy continuation that are followed. */
const GREEDY_TOKENS = 12;

test.each(['summit', 'foothill'])(
  '%s gives the logits and tokens of another implementation',
  async (name) => {
    const folder = join('models', name);
    const text = await readFile(join(folder, 'reference.json'), 'utf8');
    const reference = referenceSchema.parse(JSON.parse(text));
    const { graphPath, manifest } = await prepareModel(
      { kind: 'folder', path: folder },
      { precision: 'fp32', cacheDirectory: await temporaryDirectory() },
    );
    expect(manifest.numParameters).toBe(reference.parameters);
    const longest = Math.max(...reference.prompts.map(({ ids }) => ids.length));
    const run = await DecoderRun.create(graphPath, manifest, 1, longest + GREEDY_TOKENS);
    onTestFinished(() => run.release());

    for (const { ids, top_ids: topIds, top_logits: topLogits, greedy } of reference.prompts) {
      let [logits = new Float32Array()] = await run.step({ ids: [ids], lengths: [ids.length] });
      topIds.forEach((id, i) => {
        expect(Math.abs((logits[id] ?? NaN) - (topLogits[i] ?? NaN))).toBeLessThan(2e-3);
      });
      const tokens: number[] = [];
      while (tokens.length < GREEDY_TOKENS) {
        const best = logits.indexOf(Math.max(...logits));
        tokens.push(best);
        [logits = logits] = await run.step({
          ids: [[best]],
          lengths: [ids.length + tokens.length],
        });
      }
      expect(tokens).toEqual(greedy.slice(0, GREEDY_TOKENS));
    }
  },
);
