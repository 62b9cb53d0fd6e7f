import type { WeightSource } from '../huggingface/weights.ts';
import type { AnyresVision } from './anyres-config.ts';
import type { CanvasVision } from './canvas-config.ts';
import type { GridVision } from './grid-config.ts';
import type { GridShape } from './grid-shape.ts';
import type { LineVision } from './line-config.ts';
import type { SquareVision } from './square-config.ts';
import type { TileShape, TileVision } from './vision-config.ts';

/** Facts that a vision graph depends on in addition to the weights. */
export type VisionShape = TileShape | GridShape;

/** How a model sees: tiles of an image, patches of it in about its own size, lines of them, or one square. */
export type VisionConfig =
  | TileVision
  | CanvasVision
  | AnyresVision
  | GridVision
  | LineVision
  | SquareVision;

/** The part of a model that sees. */
export interface VisionPart {
  /** Absolute path of the model: its folder, or a GGUF file. */
  readonly path: string;
  /** Absolute path of the GGUF file that has this part; null where it is in the model's folder. */
  readonly mmproj: string | null;
  readonly config: VisionConfig;
  /** Absolute paths of the files with the weights; in safetensors those of the text model included. */
  readonly files: readonly string[];
  /** Opens the weights, named as in safetensors. @throws {ModelError} if a file is missing or damaged */
  readonly open: () => Promise<WeightSource>;
}
