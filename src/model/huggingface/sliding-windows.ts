import type { HuggingFaceConfig } from './config-schema.ts';
import type { Family, WindowRule } from '../families/family.ts';

/**
 * How many tokens each layer attends to, itself included; null for all before it, or where the window
 * is as long as texts can be and changes nothing else.
 */
export function slidingWindows(
  hf: HuggingFaceConfig,
  { slidingWindow: rule, windowRope }: Pick<Family, 'slidingWindow' | 'windowRope'>,
  maxPositionEmbeddings: number,
): (number | null)[] {
  const window = hf.sliding_window ?? null;
  const isShort = window !== null && window < maxPositionEmbeddings;
  const hasEffect = isShort || windowRope === 'unscaled';
  return Array.from({ length: hf.num_hidden_layers }, (_, layer) =>
    hasEffect && isSliding(hf, rule, layer) ? window : null,
  );
}

/** Whether a layer has the model's sliding window, if there is one. */
export function isSliding(hf: HuggingFaceConfig, rule: WindowRule, layer: number): boolean {
  if (rule === 'flag' && !hf.use_sliding_window) return false;
  const type = hf.layer_types?.[layer];
  if (type !== undefined) return type === 'sliding_attention';
  if (rule === 'flag') return layer >= (hf.max_window_layers ?? 0);
  const pattern = Number(hf._sliding_window_pattern ?? hf.sliding_window_pattern ?? 0);
  const place = rule === 'pattern, whole first' ? layer : layer + 1;
  return rule === 'all' || pattern === 0 || place % pattern !== 0;
}
