import type { BuiltModel } from '../model/manifest.ts';

/** Work of one evaluation process, as token ids. */
export interface EvalJob {
  readonly model: BuiltModel;
  /** Texts to score; each has at least two tokens. */
  readonly texts: readonly Int32Array[];
  readonly prompts: readonly { readonly tokenIds: Int32Array; readonly maxTokens: number }[];
  readonly stopTokenIds: readonly number[];
  readonly maxNumSeqs: number;
  /** Longest text, or prompt and answer, in tokens. */
  readonly maxModelLen: number;
  /** 0 takes one per core. */
  readonly threads: number;
}

export interface EvalResult {
  /** Reading and preparing the graph. */
  readonly loadMs: number;
  /** Resident memory of the whole process after its first step. */
  readonly residentBytes: number;
  /** Null when there were no texts. */
  readonly perplexity: number | null;
  readonly numScoredTokens: number;
  /** Token ids in the order of the prompts, without the stop token. */
  readonly answers: readonly (readonly number[])[];
  /** Median milliseconds of a decode step of one sequence. */
  readonly singleStepMs: number;
  /** Median milliseconds of a decode step of `batchSize` sequences. */
  readonly fullStepMs: number;
  readonly batchSize: number;
}

export type EvalMessage =
  /** Texts and prompts done. */
  | { readonly type: 'progress'; readonly done: number }
  | { readonly type: 'done'; readonly result: EvalResult }
  | { readonly type: 'failed'; readonly message: string };
