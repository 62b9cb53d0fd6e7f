/** Interface that every library is measured through. */
import type { Precision } from '../../../src/model/manifest.ts';
import type { PresetName } from '../../../src/model/huggingface/presets.ts';
import type { GgufType } from './gguf-quantization.ts';

export interface Setup {
  readonly preset: PresetName;
  readonly seed: number;
  /** Path of a real model, in place of the shape; null for that. */
  readonly gguf: string | null;
  readonly precision: Precision | GgufType;
  /** Sequences that run at once. */
  readonly sequences: number;
  /** Positions for each of them. */
  readonly capacity: number;
  readonly threads: number;
}

export interface Work {
  readonly promptTokenIds: readonly number[];
  readonly outputTokens: number;
}

export interface BatchTimes {
  /** Until every prompt is computed; null where the library is only driven step by step. */
  readonly prefillMs: number | null;
  /** For `outputTokens` of every sequence. */
  readonly decodeMs: number;
}

export interface Contender {
  /** As many prompts as there are sequences, all of one length, greedy. */
  batch(work: readonly Work[]): Promise<BatchTimes>;
  /** Prompts of one length, answers of any, as fast as it can; null where the library can't. */
  readonly serve: ((work: readonly Work[]) => Promise<void>) | null;
  close(): Promise<void>;
}

export type OpenContender = (setup: Setup) => Promise<Contender>;
