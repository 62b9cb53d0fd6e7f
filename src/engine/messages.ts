/**
 * What crosses the border between the front and the engine process, as structured clones.
 * One command per request or abort in, one step message per iteration out.
 */
import type { GrammarSpec, GrammarVocabulary } from '../grammar/grammar-spec.ts';
import type { BuiltModel } from '../model/manifest.ts';
import type { DeviceOptions } from './device.ts';

/** How the next token is drawn from the logits. Every field is set; the front fills in defaults. */
export interface SamplingParams {
  /** 0 is greedy, and so is what hardly differs from it. */
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
  /** What is added to the logits of single tokens; null when nothing is. */
  readonly logitBias: LogitBias | null;
  /** The only tokens that may be sampled; null allows all. */
  readonly allowedTokenIds: Int32Array | null;
}

export interface LogitBias {
  readonly tokenIds: Int32Array;
  /** Of the same length as `tokenIds`. */
  readonly biases: Float32Array;
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
  /** Lower goes first, as in vLLM; usually 0. */
  readonly priority: number;
  /** When the request arrived, in milliseconds of any clock that all requests share. */
  readonly arrivalMs: number;
  /** Cached prefixes are shared only among requests with the same salt. */
  readonly cacheSalt: string;
  readonly sampling: SamplingParams;
  /** What the output must look like; null leaves it free. Its end needs an end-of-sequence token. */
  readonly grammar: GrammarSpec | null;
  /** Token sequences that the output must not contain. */
  readonly badWords: readonly Int32Array[];
  /** Report each output token's log-probability and those of this many likeliest; null reports none. */
  readonly logprobs: number | null;
  /** The same for the tokens of the prompt, which is then computed token by token. */
  readonly promptLogprobs: number | null;
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
  /** Intra-op threads of ONNX Runtime; 0 takes what `usableCores` tells. */
  readonly threads: number;
  /** What computes; the CPU if left out. */
  readonly device?: DeviceOptions;
  /**
   * How a device's KV cache lies in memory: a row for each sequence, or blocks with PagedAttention;
   * slots if left out.
   */
  readonly attention?: 'slots' | 'paged';
  /** Bytes of the device's memory that the KV cache may use. */
  readonly kvCacheMemory: number;
  /** Reuse what earlier requests computed of a prompt's beginning. */
  readonly prefixCaching: boolean;
  /** Longest iteration to aim at while sequences decode; null follows the decode run's own time. */
  readonly targetItlMs: number | null;
  /** For requests with a grammar; without it they are refused. */
  readonly grammarVocabulary?: GrammarVocabulary | null;
  /** Keep the KV cache in shared memory that outlives the process (Linux). */
  readonly durableKv?: boolean;
  /** Drafts for streams that decode alone, or nearly so; null or left out: none. */
  readonly speculative?: SpeculativeOptions | null;
  /** `static` admits only into an empty batch: what continuous batching is measured against. */
  readonly batching: 'continuous' | 'static';
}

export interface SpeculativeOptions {
  /** Makes the drafts; null takes them from the text so far. It has the same tokenizer. */
  readonly draftModel: BuiltModel | null;
  /** Longest draft. */
  readonly maxTokens: number;
  /** Drafts are verified where tokens per second are expected to rise by this factor; usually 1.1. */
  readonly minGain?: number;
}

export type EngineCommand =
  | {
      readonly type: 'start';
      readonly options: EngineOptions;
      /** Descriptor of an earlier process's durable KV cache, to go on with. */
      readonly sharedMemory: number | null;
    }
  /** First after every start: what an earlier process left unfinished. */
  | { readonly type: 'resume'; readonly requests: readonly EngineRequest[] }
  | { readonly type: 'add'; readonly request: EngineRequest }
  | { readonly type: 'abort'; readonly id: number }
  | { readonly type: 'shutdown' };

/**
 * Log-probabilities at consecutive positions: the log-softmax of the model's logits, before penalties,
 * bans and temperature change them (vLLM's `raw_logprobs`).
 */
export interface Logprobs {
  /** [positions, 1 + k]: the token that is there, then the k likeliest in order. */
  readonly tokenIds: Int32Array;
  /** [positions, 1 + k] */
  readonly logprobs: Float32Array;
  /** [positions]: the rank of the token that is there, 1 for the likeliest. */
  readonly ranks: Int32Array;
}

/** One generated token of one sequence. */
export interface TokenOutput {
  readonly id: number;
  /** -1 when the sequence ended without a token (an error). */
  readonly tokenId: number;
  readonly finishReason: FinishReason | null;
  /** Set with finishReason `error`. */
  readonly error?: string;
  /** Prompt tokens that were found in the cache, in whole blocks; comes with the first token. */
  readonly numCachedTokens?: number;
  /** Of the token, when the request asks for it. */
  readonly logprobs?: Logprobs;
  /** Of every prompt token but the first, when the request asks for it; comes with the first token. */
  readonly promptLogprobs?: Logprobs;
}

/** The engine's state after an iteration; gauges are levels, the rest counts since start. */
export interface EngineStats {
  readonly numRunning: number;
  readonly numWaiting: number;
  /** Share of the KV cache's memory that running sequences hold, 0 to 1. */
  readonly kvCacheUsage: number;
  readonly numSteps: number;
  /** Times that a running sequence gave up its row for want of memory. */
  readonly numPreemptions: number;
  /** Tokens looked up in the prefix cache, and found there. */
  readonly prefixCacheQueries: number;
  readonly prefixCacheHits: number;
  /** Drafts verified, their tokens, and how many of those came true. */
  readonly numDrafts: number;
  readonly numDraftTokens: number;
  readonly numAcceptedTokens: number;
  /** Those of them that a grammar forced. */
  readonly numForcedDraftTokens: number;
  readonly numForcedAcceptedTokens: number;
}

export type EngineMessage =
  | { readonly type: 'ready'; readonly info: EngineInfo }
  | { readonly type: 'failed'; readonly message: string }
  /** The process ends, and another one may do better. */
  | { readonly type: 'dying'; readonly message: string }
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
  /** Of the KV cache: those of running sequences and those kept for reuse. */
  readonly numRows: number;
  /** Memory that the KV cache may grow to, in bytes. */
  readonly kvCacheBytes: number;
  readonly threads: number;
  /** The process's descriptor of a durable KV cache. */
  readonly sharedMemory: number | null;
}
