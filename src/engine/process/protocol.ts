/**
 * The messages between the front and the engine process, as structured clones. Requests and aborts
 * of the same moment go in as one command each; one step message per step comes out.
 */
import type { GrammarVocabulary } from '../../grammar/grammar-spec.ts';
import type { BuiltModel } from '../../model/manifest.ts';
import type { AdapterLimits } from '../cpu/adapter-slots.ts';
import type { DeviceOptions } from '../gpu/device-options.ts';
import type { BlockEvent } from '../kv-cache/block-log.ts';
import type { PrefixTierLimits } from '../prefix-tier/open-tier.ts';
import type { EngineRequest } from '../request.ts';
import type { SlotState } from '../slot-state.ts';
import type { StepMessage } from './step-message.ts';

export interface EngineOptions {
  readonly model: BuiltModel;
  /** Sequences that run at once, a slot of the KV cache each. */
  readonly maxNumSeqs: number;
  /** Positions per slot: the longest prompt plus output, in tokens. */
  readonly maxModelLen: number;
  /** Most tokens, decode and prefill together, that one iteration computes. */
  readonly maxNumBatchedTokens: number;
  /** Intra-op threads of ONNX Runtime; 0 takes what `usableCores` gives. */
  readonly threads: number;
  /** Other engine processes map the same weights, which so stay in memory once; false if left out. CPU only. */
  readonly sharesWeights?: boolean;
  /** Device that computes; the CPU if left out. */
  readonly device?: DeviceOptions;
  /**
   * How a device's KV cache lies in memory: a slot for each sequence, or pages with PagedAttention;
   * slots if left out.
   */
  readonly attention?: 'slots' | 'paged';
  /** Bytes of the device's memory that the KV cache may use. */
  readonly kvCacheMemory: number;
  /** Report blocks added to and removed from the prefix cache, with each step. */
  readonly blockEvents?: boolean;
  /** Reuse what earlier requests computed of a prompt's beginning. */
  readonly prefixCaching: boolean;
  /** Longest iteration to aim at while sequences decode; null follows the decode run's own time. */
  readonly targetItlMs: number | null;
  /** Limits on adapters added at run time; none can be added if left out. */
  readonly adapters?: AdapterLimits | undefined;
  /** For requests with a grammar; without it they are refused. */
  readonly grammarVocabulary?: GrammarVocabulary | null;
  /** Keep the KV cache in shared memory that outlives the process (Linux). */
  readonly durableKv?: boolean;
  /** Where prefixes go that leave the KV cache; null or left out: they are forgotten. CPU only. */
  readonly prefixTier?: PrefixTierLimits | null;
  /** Drafts for streams that decode alone, or nearly so; null or left out: none. */
  readonly speculative?: SpeculativeOptions | null;
}

export interface SpeculativeOptions {
  /** Makes the drafts; null takes them from the text so far. It has the same tokenizer. */
  readonly draftModel: BuiltModel | null;
  /** The model's own module for multi-token prediction makes them, which was built with it. */
  readonly predicts?: boolean;
  /** Longest draft. */
  readonly maxTokens: number;
  /** Drafts are verified where tokens per second are expected to rise by this factor; usually 1.1. */
  readonly minGain?: number;
}

export type EngineCommand =
  /**
   * Load modules that every model needs, for that many threads, while the model to start is still
   * looked for.
   */
  | { readonly type: 'prepare'; readonly threads: number }
  | {
      readonly type: 'start';
      readonly options: EngineOptions;
      /** Descriptor of an earlier process's durable KV cache, to go on with. */
      readonly sharedMemoryFd: number | null;
    }
  /** First after every start: what an earlier process left unfinished. */
  | { readonly type: 'resume'; readonly requests: readonly EngineRequest[] }
  /** Data that they share, such as the prompt or the grammar of a request's choices, is sent once. */
  | { readonly type: 'add'; readonly requests: readonly EngineRequest[] }
  | { readonly type: 'abort'; readonly ids: readonly number[] }
  /** Report the state of the slots, after the step that runs. */
  | { readonly type: 'inspect' }
  /** Send a record with every n-th step; null ends that. */
  | { readonly type: 'watch'; readonly every: number | null }
  | { readonly type: 'shutdown' };

export type EngineMessage =
  | { readonly type: 'ready'; readonly info: EngineInfo }
  | { readonly type: 'failed'; readonly message: string }
  /** The process ends, and the next one may succeed. */
  | { readonly type: 'dying'; readonly message: string }
  | { readonly type: 'slots'; readonly slots: readonly SlotState[] }
  /** Changes of the prefix cache since the message before, in order. */
  | { readonly type: 'blocks'; readonly events: readonly BlockEvent[] }
  | StepMessage;

export interface EngineInfo {
  /** As ONNX Runtime names itself, such as `1.30.0`. */
  readonly runtimeVersion: string;
  /** Device that runs the graph, such as `cpu`. */
  readonly device: string;
  /** Slots of the KV cache: those of running sequences and those kept for prefix reuse. */
  readonly numSlots: number;
  /** Sequences that run at once, at most: the rest of the slots keep ended texts. */
  readonly maxNumSeqs: number;
  /** Memory that the KV cache may grow to, in bytes. */
  readonly kvCacheBytes: number;
  /** Positions that this memory holds, and those that are found together as a prefix. */
  readonly kvCacheTokens: number;
  readonly kvBlockTokens: number;
  readonly threads: number;
  /**
   * Width of the hidden state that requests can read; null if the device or the graph does not output
   * it.
   */
  readonly hiddenSize: number | null;
  /** Width of embeddings that prompts may have in place of tokens; null if the model takes none. */
  readonly embeddingWidth: number | null;
  /** The process's descriptor of a durable KV cache. */
  readonly sharedMemoryFd: number | null;
}
