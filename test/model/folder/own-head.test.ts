/** As Transformers 5's `tie_weights`: a checkpoint with an LM head of its own has it, whatever its configuration says. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import { floatTensor, writeSafetensors } from '../../support/safetensors-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SHAPE = [128, 32];
const EMBEDDING = Float32Array.from({ length: 128 * 32 }, (_, at) => Math.sin(at));

const TEXT = {
  model_type: 'mistral',
  vocab_size: 128,
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 2,
  max_position_embeddings: 64,
  tie_word_embeddings: false,
};

async function isTied(head: Float32Array | null, isTiedBySaying = true): Promise<boolean> {
  const folder = await temporaryDirectory();
  // Names that Transformers 5 writes for a Mistral Small 3.1 that it loaded.
  const config = {
    model_type: 'mistral3',
    tie_word_embeddings: isTiedBySaying,
    text_config: TEXT,
  };
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  await writeSafetensors(join(folder, 'model.safetensors'), {
    'language_model.model.embed_tokens.weight': floatTensor(SHAPE, EMBEDDING),
    ...(head && { 'language_model.lm_head.weight': floatTensor(SHAPE, head) }),
  });
  const found = await inspectModelFolder(folder);
  return found.kind === 'huggingface' && found.config.tieWordEmbeddings;
}

test('an LM head that differs from the embedding is not tied to it', async () => {
  expect(await isTied(EMBEDDING.map((value) => value / 2))).toBe(false);
});

test('one that is equal, or left out, is', async () => {
  expect(await isTied(EMBEDDING)).toBe(true);
  expect(await isTied(null)).toBe(true);
  expect(await isTied(EMBEDDING, false)).toBe(false);
});
