import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Tokenizer } from '@huggingface/tokenizers';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

const modelsFolder = fileURLToPath(new URL('../../models', import.meta.url));
const models = readdirSync(modelsFolder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

const expectedFiles = [
  'MODEL_CARD.md',
  'config.json',
  'generation_config.json',
  'model.safetensors',
  'reference.json',
  'special_tokens_map.json',
  'tokenizer.json',
  'tokenizer_config.json',
];

const jsonObject = z.record(z.string(), z.unknown());
const config = z.object({ vocab_size: z.int() });
const reference = z.object({
  model: z.string(),
  parameters: z.int(),
  prompts: z
    .array(
      z.object({
        prompt: z.string(),
        ids: z.array(z.int()),
        top_ids: z.array(z.int()),
        top_logits: z.array(z.number()),
        greedy: z.array(z.int()).min(1),
        greedy_text: z.string(),
      }),
    )
    .min(1),
});
const safetensorsHeader = z.record(
  z.string(),
  z.object({ dtype: z.string(), shape: z.array(z.int()), data_offsets: z.array(z.int()).length(2) }),
);

test('Summit and Foothill are there', () => {
  expect(models).toEqual(expect.arrayContaining(['summit', 'foothill']));
});

describe.each(models)('models/%s', (name) => {
  const folder = join(modelsFolder, name);
  const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), 'utf8'));
  const saved = reference.parse(read('reference.json'));
  const tokenizer = new Tokenizer(
    jsonObject.parse(read('tokenizer.json')),
    jsonObject.parse(read('tokenizer_config.json')),
  );

  test('has all of its files', () => {
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(expectedFiles));
    const empty = expectedFiles.filter((file) => statSync(join(folder, file)).size === 0);
    expect(empty).toEqual([]);
  });

  test('has whole weights, as many as reference.json counts', () => {
    const bytes = readFileSync(join(folder, 'model.safetensors'));
    const headerSize = Number(bytes.readBigUInt64LE(0));
    const { __metadata__, ...header } = jsonObject.parse(
      JSON.parse(bytes.toString('utf8', 8, 8 + headerSize)),
    );
    const tensors = Object.values(safetensorsHeader.parse(header));

    expect(__metadata__).toEqual({ format: 'pt' });
    expect(new Set(tensors.map(({ dtype }) => dtype))).toEqual(new Set(['F16']));
    const sizes = tensors.map(({ shape }) => shape.reduce((product, size) => product * size, 1));
    const parameters = sizes.reduce((sum, size) => sum + size, 0);
    expect(parameters).toBe(saved.parameters);
    expect(bytes.length).toBe(8 + headerSize + 2 * parameters);
  });

  test('reference.json belongs to the model, and its ids to the vocabulary', () => {
    expect(saved.model).toBe(name);
    const { vocab_size: vocabularySize } = config.parse(read('config.json'));
    for (const { ids, top_ids: topIds, top_logits: topLogits, greedy } of saved.prompts) {
      const all = [...ids, ...topIds, ...greedy];
      expect(Math.min(...all)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...all)).toBeLessThan(vocabularySize);
      expect(topLogits).toHaveLength(topIds.length);
      expect(topLogits).toEqual(topLogits.toSorted((a, b) => b - a));
      expect(topIds[0]).toBe(greedy[0]);
    }
  });

  test.each(saved.prompts)('the tokenizer agrees on prompt %$', ({ prompt, ids, ...answer }) => {
    expect(tokenizer.encode(prompt, { add_special_tokens: false }).ids).toEqual(ids);
    const text = tokenizer.decode(answer.greedy, {
      skip_special_tokens: false,
      clean_up_tokenization_spaces: false,
    });
    expect(text).toBe(answer.greedy_text);
  });
});
