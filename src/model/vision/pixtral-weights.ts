import type { WeightSource } from '../huggingface/weights.ts';
import { MERGING_LAYER } from './grid-projector.ts';
import { TOWER } from './tensor-names.ts';

const KERNEL = 'visual.patch_embed.proj.weight';

/** Beginnings of names in a graph over grids, and in checkpoints of Pixtral. */
const NAMES = [
  ['visual.patch_embed.proj.', `${TOWER}.patch_conv.`],
  ['visual.input_norm.', `${TOWER}.ln_pre.`],
  ['visual.blocks.', `${TOWER}.transformer.layers.`],
  ['.norm1.', '.attention_norm.'],
  ['.norm2.', '.ffn_norm.'],
  ['.attn.proj.', '.attention.o_proj.'],
  ['.attn.', '.attention.'],
  ['.mlp.', '.feed_forward.'],
] as const;

/** The weights of Pixtral's tower and its projector as a graph over grids asks for them. */
export function pixtralWeights(checkpoint: WeightSource): WeightSource {
  return {
    get: async (name, shape) => {
      if (name === `${MERGING_LAYER}.weight`) return patchesFirst(checkpoint, name, shape);
      const stored = name.startsWith('visual.')
        ? NAMES.reduce((text, [ours, theirs]) => text.replace(ours, theirs), name)
        : name;
      // A patch is of one frame.
      const dims = name === KERNEL ? shape.filter((_, axis) => axis !== 2) : shape;
      return checkpoint.get(stored, dims);
    },
    close: () => checkpoint.close(),
  };
}

/** A row of the matrix has each channel of all patches together, and gets each patch's channels together. */
async function patchesFirst(
  checkpoint: WeightSource,
  name: string,
  shape: readonly number[],
): Promise<Float32Array> {
  const values = await checkpoint.get(name, shape);
  const [channels = 1, beside = 1] = shape;
  const patches = beside / channels;
  return Float32Array.from(values, (_, at) => {
    const [row, column] = [Math.floor(at / beside), at % beside];
    const [patch, channel] = [Math.floor(column / channels), column % channels];
    return values[row * beside + channel * patches + patch] ?? 0;
  });
}
