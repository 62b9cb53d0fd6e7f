/** Weights of mmproj files as the graphs of each family ask for them: what converters changed is undone. */
import { pairedRow } from '../gguf/stored-order.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import type { GridTower } from './grid-shape.ts';
import {
  GEMMA_NAMES,
  IDEFICS_NAMES,
  type MmprojNames,
  PIXTRAL_NAMES,
  qwenNames,
} from './mmproj-names.ts';
import { type LayerWidths, MmprojWeights } from './mmproj-weights.ts';
import { pixtralWeights } from './pixtral-weights.ts';
import { POOL_NORM } from './tensor-names.ts';

export async function openIdefics(path: string, tower: LayerWidths): Promise<WeightSource> {
  return MmprojWeights.open(path, IDEFICS_NAMES, tower);
}

/** A norm that multiplies by 1 plus its weight has the sum in the file. */
export async function openGemma(path: string, tower: LayerWidths): Promise<WeightSource> {
  return changed(path, GEMMA_NAMES, tower, (file) => async (name, shape) => {
    const values = await file.get(name, shape);
    return name === POOL_NORM ? values.map((value) => value - 1) : values;
  });
}

/** Queries, keys and values are tensors of their own in most files, and so are the frames of a patch. */
export async function openQwen(
  path: string,
  tower: LayerWidths & Pick<GridTower, 'deepLayers'>,
): Promise<WeightSource> {
  return changed(path, qwenNames(tower.deepLayers), tower, (file) => async (name, shape) => {
    if (name === 'visual.patch_embed.proj.weight') return inFrames(file, shape);
    if (!name.includes('.attn.qkv.') || file.has(name)) return file.get(name, shape);
    const [rows = 0, ...columns] = shape;
    const made = new Float32Array(shape.reduce((size, dim) => size * dim, 1));
    for (const [index, part] of ['q', 'k', 'v'].entries()) {
      const values = await file.get(name.replace('.qkv.', `.${part}.`), [rows / 3, ...columns]);
      made.set(values, index * values.length);
    }
    return made;
  });
}

/** Rows of queries and keys that turn together are neighbours. */
export async function openPixtral(
  path: string,
  tower: LayerWidths & Pick<GridTower, 'numHeads'>,
): Promise<WeightSource> {
  const headDim = tower.hiddenSize / tower.numHeads;
  const weights = await changed(path, PIXTRAL_NAMES, tower, (file) => async (name, shape) => {
    const values = await file.get(name, shape);
    if (!/\.[qk]_proj\.weight$/.test(name)) return values;
    const [, width = 1] = shape;
    return values.map((_, at) => {
      const [row, column] = [Math.floor(at / width), at % width];
      return values[pairedRow(row, headDim) * width + column] ?? 0;
    });
  });
  return pixtralWeights(weights);
}

/** A kernel of patches, [channels, 3, frames, side, side], of a kernel for each frame. */
async function inFrames(file: MmprojWeights, shape: readonly number[]): Promise<Float32Array> {
  const [channels = 0, colors = 0, frames = 0, height = 0, width = 0] = shape;
  const area = height * width;
  const made = new Float32Array(channels * colors * frames * area);
  for (let frame = 0; frame < frames; frame++) {
    const stored = `v.patch_embd.weight${frame === 0 ? '' : `.${frame}`}`;
    const values = await file.read(stored, [channels, colors, height, width]);
    for (let plane = 0; plane < channels * colors; plane++) {
      const pixels = values.subarray(plane * area, (plane + 1) * area);
      made.set(pixels, (plane * frames + frame) * area);
    }
  }
  return made;
}

async function changed(
  path: string,
  names: MmprojNames,
  tower: LayerWidths,
  get: (file: MmprojWeights) => WeightSource['get'],
): Promise<WeightSource> {
  const file = await MmprojWeights.open(path, names, tower);
  return { get: get(file), close: () => file.close() };
}
