/** Steps of `optimize` have the LM head that the checkpoint has. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { openSource } from '../../src/optimize/folder/checkpoint.ts';
import { floatTensor, writeSafetensors } from '../support/safetensors-writer.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test('an LM head that differs from the embedding stays apart', async () => {
  const path = await temporaryDirectory();
  const config = {
    model_type: 'llama',
    vocab_size: 64,
    hidden_size: 32,
    intermediate_size: 64,
    num_hidden_layers: 1,
    num_attention_heads: 2,
    max_position_embeddings: 64,
    tie_word_embeddings: true,
  };
  await writeFile(join(path, 'config.json'), JSON.stringify(config));
  await writeSafetensors(join(path, 'model.safetensors'), {
    'model.embed_tokens.weight': floatTensor([64, 32], new Float32Array(64 * 32).fill(1)),
    'lm_head.weight': floatTensor([64, 32], new Float32Array(64 * 32).fill(2)),
  });
  const { json, config: parsed, weights } = await openSource({ kind: 'folder', path });
  await weights.close();
  expect(json).toEqual({ ...config, tie_word_embeddings: false });
  expect(parsed.tieWordEmbeddings).toBe(false);
});
