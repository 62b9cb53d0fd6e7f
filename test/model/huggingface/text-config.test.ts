import { describe, expect, it } from 'vitest';

import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { textModelTensor } from '../../../src/model/huggingface/text-config.ts';

describe('the configuration of a multimodal model', () => {
  it('may leave nearly all to the family, as that of Gemma 3 4B does', () => {
    const config = parseDecoderConfig(
      {
        architectures: ['Gemma3ForConditionalGeneration'],
        eos_token_id: [1, 106],
        model_type: 'gemma3',
        text_config: {
          hidden_size: 2560,
          intermediate_size: 10_240,
          model_type: 'gemma3_text',
          num_hidden_layers: 34,
          rope_scaling: { factor: 8, rope_type: 'linear' },
          sliding_window: 1024,
        },
        vision_config: { hidden_size: 1152, num_hidden_layers: 27 },
      },
      'config.json',
    );
    expect(config).toMatchObject({
      vocabSize: 262_208,
      hiddenSize: 2560,
      numLayers: 34,
      numHeads: 8,
      numKvHeads: 4,
      headDim: 256,
      maxPositionEmbeddings: 131_072,
      ropeTheta: 1_000_000,
      ropeScaling: { type: 'linear', factor: 8 },
      localRopeTheta: 10_000,
      tieWordEmbeddings: true,
      eosTokenIds: [1, 106],
    });
    expect(config.slidingWindows.slice(0, 7)).toEqual([1024, 1024, 1024, 1024, 1024, null, 1024]);
  });

  it('may have the text model around the rest, as that of Qwen2.5-VL does', () => {
    const config = parseDecoderConfig(
      {
        model_type: 'qwen2_5_vl',
        vocab_size: 151_936,
        hidden_size: 2048,
        intermediate_size: 11_008,
        num_hidden_layers: 36,
        num_attention_heads: 16,
        num_key_value_heads: 2,
        max_position_embeddings: 128_000,
        rope_theta: 1_000_000,
        rope_scaling: { type: 'mrope', mrope_section: [16, 24, 24] },
        sliding_window: 32_768,
        use_sliding_window: false,
        max_window_layers: 70,
        tie_word_embeddings: true,
        vision_config: { hidden_size: 1280 },
      },
      'config.json',
    );
    expect(config).toMatchObject({
      family: { modelType: 'qwen2' },
      queryKeyValueBias: true,
      ropeScaling: { type: 'default' },
      tieWordEmbeddings: true,
    });
  });

  it('counts around the text model where that is about the LM head', () => {
    const shape = {
      vocab_size: 64,
      hidden_size: 32,
      intermediate_size: 32,
      num_hidden_layers: 1,
      num_attention_heads: 2,
      max_position_embeddings: 64,
    };
    const tied = (outer: object, inner: object) =>
      parseDecoderConfig(
        {
          model_type: 'mistral3',
          ...outer,
          text_config: { ...shape, model_type: 'mistral', ...inner },
        },
        'config.json',
      ).tieWordEmbeddings;
    expect(tied({ tie_word_embeddings: true }, { tie_word_embeddings: false })).toBe(true);
    expect(tied({}, { tie_word_embeddings: true })).toBe(true);
    expect(tied({}, {})).toBe(false);
  });

  it('is refused by the text model in it', () => {
    const config = { model_type: 'mistral3', text_config: { model_type: 'jamba' } };
    expect(() => parseDecoderConfig(config, 'config.json')).toThrow(
      'config.json: model type "jamba" is not supported',
    );
  });
});

describe('tensors of text models', () => {
  it.each([
    ['language_model.model.layers.0.mlp.up_proj.weight', 'model.layers.0.mlp.up_proj.weight'],
    ['language_model.lm_head.weight', 'lm_head.weight'],
    ['model.language_model.embed_tokens.weight', 'model.embed_tokens.weight'],
    ['model.text_model.norm.weight', 'model.norm.weight'],
    ['model.layers.0.input_layernorm.weight', 'model.layers.0.input_layernorm.weight'],
    [
      'vision_tower.encoder.layers.0.mlp.fc1.weight',
      'model.vision_model.encoder.layers.0.mlp.fc1.weight',
    ],
  ])('%s', (stored, name) => {
    expect(textModelTensor(stored)).toBe(name);
  });
});
