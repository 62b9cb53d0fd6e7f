/** The tiny checkpoints of model families that scripts/references writes. */
export const FAMILY_FIXTURES = 'test/fixtures/families';

/** Those that models are optimized layer by layer for: all but experts, and other positions than rotary ones. */
export const LAYERWISE_FAMILIES = [
  'llama',
  'ernie4.5',
  'exaone4',
  'gemma',
  'gemma2',
  'gemma3',
  'glm',
  'glm4',
  'granite',
  'granite-hybrid',
  'llama4-small',
  'mistral',
  'olmo2',
  'phi3',
  'qwen2',
  'qwen3',
  'seed-oss',
  'smollm3',
] as const;
