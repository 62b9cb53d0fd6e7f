import { describe, expect, test } from 'vitest';
import { MODEL_LIMITS } from '../../../src/model-limits.ts';
import { parseAdapterConfig } from '../../../src/model/adapters/adapter-config.ts';

const parse = (alphas: Readonly<Record<string, number>>) =>
  parseAdapterConfig({ peft_type: 'LORA', r: 4, lora_alpha: 8, alpha_pattern: alphas }, 'it');

describe('patterns of modules', () => {
  test.each([
    ['q_proj', 'model.layers.0.self_attn.q_proj', true],
    ['q_proj', 'model.layers.0.self_attn.big_q_proj', false],
    ['self_attn.q_proj', 'model.layers.0.self_attn.q_proj', true],
    [String.raw`layers\.\d+\.mlp\..*`, 'model.layers.12.mlp.down_proj', true],
    [String.raw`layers\.(0|1)\.mlp\..*`, 'model.layers.12.mlp.down_proj', false],
    ['.*', 'model.layers.12.mlp.down_proj', true],
  ])('%s of %s: %s', (pattern, module, isMatch) => {
    expect(parse({ [pattern]: 20 }).scaling(module, 4)).toBe(isMatch ? 5 : 2);
  });

  // As long as the name of a module may be; alone it would take until the end of the world.
  test.each(['(\\w|.)*#', '(\\w+)+#', '(.*)*#', '(?=(.*)+#).*'])('%s is given up on', (pattern) => {
    const startedAt = performance.now();
    const config = parse({ [pattern]: 1 });
    const scale = () => config.scaling('model.layers.0.mlp.'.padEnd(200, 'w'), 4);
    expect(scale).toThrow(`take more than ${MODEL_LIMITS.adapterPatternsMs} ms to match`);
    expect(performance.now() - startedAt).toBeLessThan(10 * MODEL_LIMITS.adapterPatternsMs);
  });

  test('are bounded in number', () => {
    const many = Array.from({ length: MODEL_LIMITS.adapterPatterns + 1 }, (_, i) => [`m${i}`, 1]);
    expect(() => parse(Object.fromEntries(many))).toThrow('alpha_pattern: more than 1024 patterns');
  });
});
