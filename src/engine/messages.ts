/**
 * What crosses the border between the front and the engine process, as structured clones.
 * One command per request or abort in, one step message per iteration out.
 */
import type { BuiltModel } from '../model/manifest.ts';

/** How the next token is drawn from the logits. Every field is set; the front fills in defaults. */
export interface SamplingParams {
  /** 0 is greedy. */
  readonly temperature: number;
  /** Keep the k most likely tokens; 0 keeps all. */
  readonly topK: number;
  /** Keep the smallest set of tokens whose probabilities reach p; 1 keeps all. */
  readonly topP: number;
  /** Keep tokens at least this share as likely as the likeliest; 0 keeps all. */
  readonly minP: number;
  /** Divides (positive) or multiplies (negative) logits of tokens seen in prompt or output; 1 is off. */
  readonly repetitionPenalty: number;
  /** Subtracted once from the logits of tokens seen in the output; 0 is off. */
  readonly presencePenalty: number;
  /** Subtracted from the logits per occurrence in the output; 0 is off. */
  readonly frequencyPenalty: number;
  /** 64 bits. Randomness is a function of (seed, position) alone. */
  readonly seed: bigint;
}

export interface EngineRequest {
  /** Chosen by the front, unique in the life of the engine process. */
  readonly id: number;
  readonly promptTokenIds: Int32Array;
  /** Tokens already generated, when a request is taken up again after a crash; else empty. */
  readonly outputTokenIds: Int32Array;
  /** Bound on all generated tokens, `outputTokenIds` included. */
  readonly maxTokens: number;
  /** Any of these ends the sequence with reason `stop`. Includes the end-of-sequence ids unless ignored. */
  readonly stopTokenIds: readonly number[];
  /** No stop token may be sampled before this many tokens were generated. */
  readonly minTokens: number;
  readonly sampling: SamplingParams;
}

export type FinishReason = 'stop' | 'length' | 'error';

export interface EngineOptions {
  readonly model: BuiltModel;
  /** Rows of the KV cache: how many sequences run at once. */
  readonly maxNumSeqs: number;
  /** Positions per row: the longest prompt plus output, in tokens. */
  readonly maxModelLen: number;
  /** Most tokens (decode rows plus prefill) that one iteration computes. */
  readonly maxNumBatchedTokens: number;
  /** Intra-op threads of ONNX Runtime; 0 lets it choose. */
  readonly threads: number;
}

export type EngineCommand =
  | { readonly type: 'start'; readonly options: EngineOptions }
  | { readonly type: 'add'; readonly request: EngineRequest }
  | { readonly type: 'abort'; readonly id: number }
  | { readonly type: 'shutdown' };

/** One generated token of one sequence. */
export interface TokenOutput {
  readonly id: number;
  /** -1 when the sequence ended without a token (an error). */
  readonly tokenId: number;
  readonly finishReason: FinishReason | null;
  /** Set with finishReason `error`. */
  readonly error?: string;
}

/** The engine's state after an iteration; gauges are levels, the rest counts since start. */
export interface EngineStats {
  readonly numRunning: number;
  readonly numWaiting: number;
  /** Share of the KV cache's positions that hold live tokens, 0 to 1. */
  readonly kvCacheUsage: number;
  readonly numSteps: number;
}

export type EngineMessage =
  | { readonly type: 'ready'; readonly info: EngineInfo }
  | { readonly type: 'failed'; readonly message: string }
  | {
      readonly type: 'step';
      readonly outputs: readonly TokenOutput[];
      readonly stats: EngineStats;
    };

export interface EngineInfo {
  /** As ONNX Runtime names itself, such as `1.30.0`. */
  readonly runtimeVersion: string;
  /** What runs the graph, such as `cpu`. */
  readonly device: string;
  /** Bytes of address space the KV cache reserves; physical memory follows use. */
  readonly kvCacheBytes: number;
  readonly threads: number;
}
