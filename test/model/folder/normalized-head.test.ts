/** Heads of models that divide each column by its length before they use it, as Ling's own code does. */
import { expect, test } from 'vitest';

import { withNormalizedHead } from '../../../src/model/folder/normalized-head.ts';
import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { piecesOf, type WeightSource } from '../../../src/model/huggingface/weights.ts';

const LING = {
  model_type: 'bailing_moe',
  vocab_size: 4,
  hidden_size: 32,
  intermediate_size: 16,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_experts: 2,
  num_shared_experts: 1,
  max_position_embeddings: 64,
  norm_head: true,
};
const SHAPE = [4, 2];
// Lengths of 5 and 13.
const HEAD = [3, 0, 0, 5, 4, 0, 0, 12];
const NORMALIZED = [0.6, 0, 0, 5 / 13, 0.8, 0, 0, 12 / 13];

function opened(config: object = LING) {
  const read: string[] = [];
  const stored: WeightSource = {
    get: (name) => {
      read.push(name);
      return Promise.resolve(Float32Array.from(HEAD));
    },
    layout: () => ({ bits: 8, blockSize: 32, hasZeroPoints: false, order: null }),
    close: () => Promise.resolve(),
  };
  const weights = withNormalizedHead(parseDecoderConfig(config, 'config.json'), stored);
  return { weights, read, stored };
}

const rounded = (values: Iterable<number>) => Array.from(values, (value) => value.toFixed(5));

test('columns of the head have a length of 1, in pieces too, and other tensors stay', async () => {
  const { weights, read } = opened();
  expect(await weights.get('model.norm.weight', SHAPE)).toEqual(Float32Array.from(HEAD));
  expect(read).toEqual(['model.norm.weight']);
  expect(rounded(await weights.get('lm_head.weight', SHAPE))).toEqual(rounded(NORMALIZED));
  const found: number[] = [];
  for await (const piece of piecesOf(weights, 'lm_head.weight', SHAPE)) found.push(...piece);
  expect(rounded(found)).toEqual(rounded(NORMALIZED));
  // Once for the lengths, and once each time.
  expect(read.filter((name) => name === 'lm_head.weight')).toHaveLength(3);
});

test('integers of a stored head are not taken as they are', () => {
  const { weights } = opened();
  expect(weights.layout?.('lm_head.weight', SHAPE)).toBeNull();
  expect(weights.layout?.('model.layers.0.attention.dense.weight', SHAPE)).not.toBeNull();
});

test('heads of other models stay', () => {
  const { weights, stored } = opened({ ...LING, norm_head: false });
  expect(weights).toBe(stored);
});
