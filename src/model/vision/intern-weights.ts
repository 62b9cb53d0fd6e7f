import type { WeightSource } from '../huggingface/weights.ts';
import type { CanvasVision } from './canvas-config.ts';
import { LAYERS, TOWER } from './tensor-names.ts';

/** Parts of names in a graph over tiles, and in checkpoints of InternVL. */
const NAMES = [
  ['.embeddings.patch_embedding.', '.embeddings.patch_embeddings.projection.'],
  [LAYERS, `${TOWER}.encoder.layer.`],
  ['.layer_norm1.', '.layernorm_before.'],
  ['.layer_norm2.', '.layernorm_after.'],
  ['.self_attn.out_proj.', '.attention.projection_layer.'],
  ['.self_attn.', '.attention.'],
] as const;

/** Matrices whose rows are multiplied by the layer's scale of what it adds. */
const SCALED = [
  ['.self_attn.out_proj.', '.lambda_1'],
  ['.mlp.fc2.', '.lambda_2'],
] as const;

/** The weights of InternVL's tower and its projector as a graph over tiles asks for them. */
export function internWeights(
  checkpoint: WeightSource,
  { attentionBias }: Pick<CanvasVision, 'attentionBias'>,
): WeightSource {
  const get = async (name: string, shape: readonly number[]): Promise<Float32Array> => {
    // Both have a dimension for images, of 1.
    if (name === `${TOWER}.embeddings.class_embedding`) {
      return checkpoint.get(`${TOWER}.embeddings.cls_token`, [1, 1, ...shape]);
    }
    if (name === `${TOWER}.embeddings.position_embedding.weight`) {
      return checkpoint.get(`${TOWER}.embeddings.position_embeddings`, [1, ...shape]);
    }
    if (!attentionBias && /\.self_attn\.[qkv]_proj\.bias$/.test(name)) {
      return new Float32Array(shape[0] ?? 0);
    }
    const values = await checkpoint.get(storedName(name), shape);
    const [matrix, scale] = SCALED.find(([part]) => name.includes(part)) ?? [];
    if (matrix === undefined) return values;
    const scales = await checkpoint.get(storedName(name.split(matrix)[0] + scale), [shape[0] ?? 0]);
    const width = values.length / scales.length;
    return values.map((value, at) => value * (scales[Math.floor(at / width)] ?? 1));
  };
  return { get, close: () => checkpoint.close() };
}

function storedName(name: string): string {
  if (!name.startsWith(TOWER)) return name;
  return NAMES.reduce((text, [ours, theirs]) => text.replace(ours, theirs), name);
}
