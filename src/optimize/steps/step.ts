import type { LayerwiseDecoder } from '../calibration/layerwise-decoder.ts';
import type { Checkpoint } from '../folder/checkpoint.ts';
import type { StepFolder } from '../folder/step-folder.ts';
import { UserError } from '../../user-error.ts';

/** A share of something, or how many there are of it. */
export type Amount =
  | { readonly kind: 'share'; readonly share: number }
  | { readonly kind: 'count'; readonly count: number };

export interface PruneMlp {
  readonly step: 'prune-mlp';
  readonly share: number;
  /** The same share of every layer, or of all layers together, where it costs least. */
  readonly ratios: 'uniform' | 'sensitivity';
  readonly refit: boolean;
}

export interface PruneHeads {
  readonly step: 'prune-heads';
  readonly share: number;
  /** Whole groups of query heads with their key and value head, or as many query heads of each group. */
  readonly of: 'groups' | 'queries';
  readonly refit: boolean;
}

export interface PruneLayers {
  readonly step: 'prune-layers';
  readonly amount: Amount | { readonly kind: 'layers'; readonly layers: readonly number[] };
  readonly refit: boolean;
}

export interface Sparsity {
  readonly step: 'sparsity';
  /** Two of four neighbours in a row, or a share of all weights. */
  readonly pattern: '2:4' | number;
  readonly criterion: 'magnitude' | 'wanda';
  /** Weights are removed in squares of this many rows and columns. */
  readonly blockSize: number;
  readonly refit: boolean;
}

export interface Rounding {
  readonly step: 'rounding';
  readonly method: 'nearest' | 'gptq' | 'awq';
  /** Neighbours in a row that share a scale. */
  readonly blockSize: number;
}

/** A change of a model. */
export type Step = PruneMlp | PruneHeads | PruneLayers | Sparsity | Rounding;

/** Inputs of a step. */
export interface StepContext {
  readonly source: Checkpoint;
  /** To calibrate with, as token ids. */
  readonly texts: readonly Int32Array[];
  /** Where its result goes. */
  readonly folder: StepFolder;
  readonly decoder: (model: Pick<Checkpoint, 'config' | 'weights'>) => LayerwiseDecoder;
  readonly onProgress: (done: number, total: number) => void;
}

/** A model that a step does not fit, or that it would make nothing of, in words for whoever asked for it. */
export class StepError extends UserError {}

/** Such as `12.5 %`. */
export function percent(share: number): string {
  return `${Number((100 * share).toFixed(3))} %`;
}
