/** GGUF files that steps are applied to: as the same model in safetensors. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeLlama } from '../../scripts/bench/peers/write-gguf.ts';
import { loadTextModel } from '../../src/front/prompts/load-text-model.ts';
import { ggufTextFolder } from '../../src/model/gguf/text/text-folder.ts';
import { parseDecoderConfig } from '../../src/model/huggingface/config.ts';
import { RandomWeights } from '../../src/model/huggingface/random-weights.ts';
import { SafetensorsWeights } from '../../src/model/huggingface/safetensors.ts';
import type { Step } from '../../src/optimize/steps/step.ts';
import { FAMILY_FIXTURES } from '../support/families.ts';
import { type GgufCase, ggufOf, GRANITE } from '../support/gguf-family.ts';
import { uint } from '../support/gguf-writer.ts';
import { deviation, openFolder, servedLogits } from '../support/optimized-folder.ts';
import { optimized, PRUNE_MLP, ROUNDING, SMALL_SHAPE } from '../support/optimized.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test.each<GgufCase>([
  { fixture: 'llama', architecture: 'llama', paired: true, factors: 'rope_freqs' },
  { fixture: 'phi3', architecture: 'phi3', metadata: { 'attention.sliding_window': uint(8) } },
  GRANITE,
])('$fixture with floats in GGUF comes to what it comes to in safetensors', async (of) => {
  const folder = join(FAMILY_FIXTURES, of.fixture);
  const json: unknown = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
  const weights = await SafetensorsWeights.open([join(folder, 'model.safetensors')]);
  const path = join(await temporaryDirectory(), 'model.gguf');
  await writeFile(path, await ggufOf(of, parseDecoderConfig(json, folder), weights));
  await weights.close();
  const steps: Step[] = [{ ...PRUNE_MLP, share: 0.5, refit: false }];
  const [expected, found] = [
    await optimized({ kind: 'folder', path: folder }, steps),
    await optimized({ kind: 'folder', path }, steps, { textFolder: null }),
  ];
  const logits = await servedLogits(expected.path);
  expect(deviation(await servedLogits(found.path), logits)).toBeLessThan(1e-5);
  const { weights: stored } = await openFolder(found.path);
  expect(stored.typeOf?.('model.norm.weight')).toBe('F32');
  await stored.close();
  expect(found.report.after.parameters).toBe(expected.report.after.parameters);
});

test('integers become floats that are rounded anew, and the tokenizer comes along', async () => {
  const path = join(await temporaryDirectory(), 'model.gguf');
  const config = parseDecoderConfig(SMALL_SHAPE, 'the shape');
  await writeLlama(path, { config, weights: new RandomWeights(5), type: 'q8_0' });
  const textFolder = await ggufTextFolder(path, await temporaryDirectory());
  const steps: Step[] = [PRUNE_MLP, { ...ROUNDING, method: 'gptq' }];
  const { path: made } = await optimized({ kind: 'folder', path }, steps, { textFolder });
  const { weights, stored } = await openFolder(made);
  expect(stored).toMatchObject({ precision: 'int4' });
  expect(weights.typeOf?.('model.embed_tokens.weight')).toBe('F16');
  expect(weights.typeOf?.('model.norm.weight')).toBe('F32');
  await weights.close();
  const { tokenizer } = await loadTextModel({ folder: made, vocabSize: config.vocabSize });
  expect(tokenizer.encode('a', { addSpecialTokens: true }).length).toBeGreaterThan(1);
  expect((await servedLogits(made)).every(Number.isFinite)).toBe(true);
});
