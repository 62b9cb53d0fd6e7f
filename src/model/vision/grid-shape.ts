/** Facts of towers over images in about their own size. */
import type { EncoderActivation } from '../encoder/encoder-config.ts';
import { ModelError } from '../model-error.ts';
import type { Normalization } from './vision-files.ts';

/** Attention and rotary kernels work on heads of so many dimensions and its multiples. */
const HEAD_DIM_MULTIPLE = 8;

/** A vision transformer over the patches of an image, whose positions are rotary. */
export interface GridTower {
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly activation: 'silu' | 'quick_gelu' | 'gelu' | 'gelu_tanh';
  readonly norms: 'layer' | 'rms';
  readonly normEps: number;
  /** Whether patches are normalized before the layers. */
  readonly inputNorm: boolean;
  /** Whether layers have biases. */
  readonly bias: boolean;
  readonly tensors: GridTensors;
  readonly ropeTheta: number;
  /** Whether rows and columns turn at the same rates, or take turns in those of a whole head. */
  readonly rotation: 'same' | 'in turns';
  /** Pixels of each side of a patch, and frames that it reaches over. */
  readonly patchSide: number;
  readonly frames: number;
  /** Attention within windows of so many cells along each side, but for some layers; null for none. */
  readonly windows: { readonly cells: number; readonly exceptLayers: readonly number[] } | null;
  /** Rows along each side of a table of positions, which is read in between; null for none, nor a bias of patches. */
  readonly tableSide: number | null;
  /** Layers whose sums the text model gets too, merged. */
  readonly deepLayers: readonly number[];
}

/** Names of a layer's tensors that families have by other ones. */
export interface GridTensors {
  /** Query, key and value: one tensor for each, or one with all three stacked. */
  readonly attention: readonly string[];
  /** A layer's MLP: one layer, or gates and ups; and the layer after its activation. */
  readonly first: readonly string[];
  readonly down: string;
}

/** Names of the tensors of Qwen-VL's merger: two layers over the patches of a cell, which are normalized before. */
export interface GridMerger {
  readonly kind: 'merger';
  readonly norm: string;
  readonly layers: readonly [first: string, second: string];
}

/** Pixtral's: two layers over cells that are one row before. */
export interface GridProjector {
  readonly kind: 'projector';
  /** For cells of several patches: these are normalized, and merged by a layer of its own. */
  readonly mergerEps: number | null;
  readonly activation: EncoderActivation;
  readonly bias: boolean;
}

/** Facts that a graph over grids depends on in addition to the weights. */
export interface GridShape extends Normalization {
  readonly kind: 'grid';
  readonly tower: GridTower;
  /** Patches along each side of a cell, which becomes one token. */
  readonly merge: number;
  /** Maker of tokens from cells. */
  readonly connector: GridMerger | GridProjector;
  /** Channels of the text model. */
  readonly textSize: number;
}

/** @throws {ModelError} naming the file as `origin`, for heads that no kernel takes */
export function requireHeads(
  { hiddenSize, numHeads }: Pick<GridTower, 'hiddenSize' | 'numHeads'>,
  origin: string,
): void {
  if (hiddenSize % numHeads === 0 && (hiddenSize / numHeads) % HEAD_DIM_MULTIPLE === 0) return;
  throw new ModelError(
    `${origin}: ${numHeads} heads of ${hiddenSize} channels have no multiple of ${HEAD_DIM_MULTIPLE} each`,
  );
}
