import { expect, it } from 'vitest';
import { distanceBucket } from '../../../src/model/encoder/disentangled.ts';
import { DEBERTA } from '../../../src/model/encoder/families/deberta.ts';

it('puts distances into buckets as Transformers does, at each border', () => {
  // make_log_bucket_position(.., 256, 512) of Transformers 5.24: first distances of new buckets beyond 128
  const borders = [
    129, 130, 131, 133, 134, 136, 137, 139, 140, 142, 143, 145, 146, 148, 150, 151, 153, 155, 156,
    158, 160, 161, 163, 165, 167, 169, 170, 172, 174, 176, 178, 180, 182, 184, 186, 188, 190, 192,
    194, 196, 198, 201, 203, 205, 207, 210, 212, 214, 216, 219, 221, 224, 226, 229, 231, 234, 236,
    239, 241, 244, 247, 249, 252, 255, 258, 260, 263, 266, 269, 272, 275, 278, 281, 284, 287, 290,
    294, 297, 300, 303, 307, 310, 313, 317, 320, 324, 327, 331, 335, 338, 342, 346, 349, 353, 357,
    361, 365, 369, 373, 377, 381, 385, 390, 394, 398, 403, 407, 411, 416, 420, 425, 430, 434, 439,
    444, 449, 454, 459, 464, 469, 474, 479, 484, 490, 495, 500, 506,
  ];
  let bucket = 128;
  for (let distance = 0; distance < 512; distance++) {
    if (borders.includes(distance)) bucket++;
    const wanted = distance <= 128 ? distance : bucket;
    expect(distanceBucket(distance, 256, 512)).toBe(wanted);
    expect(distanceBucket(-distance, 256, 512) + wanted).toBe(0);
  }
});

const config = {
  vocab_size: 100,
  hidden_size: 16,
  intermediate_size: 32,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  max_position_embeddings: 32,
  relative_attention: true,
  pos_att_type: 'p2c|c2p',
};

it.each([
  ['a convolution', { conv_kernel_size: 3 }, /conv_kernel_size.*expected no convolution/],
  ['one way alone', { pos_att_type: 'c2p' }, /pos_att_type.*expected c2p and p2c/],
  ['narrow embeddings', { embedding_size: 8 }, /embedding_size.*as wide as layers/],
  ['no distances', { relative_attention: false }, /relative_attention/],
  ['a huge table', { position_buckets: 1e9 }, /position_buckets/],
])('refuses DeBERTa with %s by name', (_name, more, message) => {
  expect(() => DEBERTA.describe({ ...config, ...more }, 'config.json')).toThrow(message);
});

it('reads kinds of distances as one text', () => {
  expect(DEBERTA.describe(config, 'config.json').body.distances).toMatchObject({
    span: 32,
    isBucketed: false,
  });
});
