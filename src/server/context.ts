/** What the HTTP surface is built over; the command line composes it. */
import type { HttpBindings } from '@hono/node-server';
import type { Logger } from 'pino';
import type { EngineAdapter } from '../engine/request.ts';
import type { ServedAdapters } from '../front/adapters/served-adapters.ts';
import type { TokenMeter } from '../front/caller.ts';
import type { RequestRecord } from '../front/request-record.ts';
import type { Admission } from '../front/queue/admission.ts';
import type { ChatFormat } from '../front/chat/chat-format.ts';
import type { Engine } from '../front/engine-process/engine-contract.ts';
import type { Generator } from '../front/generation/generation.ts';
import type { GenerationCache } from '../front/response-cache/generation-cache.ts';
import type { GrammarChecker } from '../front/grammars/grammar-checker.ts';
import type { NextTurns } from '../front/prefetch/next-turns.ts';
import type { PinnedPrefixes } from '../front/prefetch/pinned-prefixes.ts';
import type { Prefetcher } from '../front/prefetch/prefetcher.ts';
import type { PromptEncoder } from '../front/prompts/prompt-encoder.ts';
import type { TextTokenizer } from '../front/text/tokenizer.ts';
import { LIMITS } from '../limits.ts';
import type { TextEncoder } from '../front/encoder/embed-request.ts';
import type { TensorModel } from '../front/encoder/tensor-model.ts';
import type { TextModel } from '../front/encoder/text-model.ts';
import type { Runtime } from '../front/registry/loaded-model.ts';
import type { ModelDefinition, ModelKey } from '../front/registry/model-definition.ts';
import type { ModelRegistry } from '../front/registry/model-registry.ts';
import type { MetricsHub } from '../observability/metrics-hub.ts';
import type { ApiKeys } from './auth/api-keys.ts';
import type { BatchService } from './batches/batch-service.ts';
import type { LoopMonitor } from './operating/loop-monitor.ts';
import type { RunningRequests } from './operating/running-requests.ts';
import type { BodyReader } from './http/request-body.ts';
import type { RateLimits } from './rates/rate-limits.ts';
import type { Resumption } from './resume/movable-answer.ts';
import type { Usage } from './rates/usage.ts';
import type { ResponseStore } from './responses/store.ts';
import type { PageFiles } from './ui/page-files.ts';
import type { LastHour } from './status/last-hour.ts';
import type { Setting } from './status/settings.ts';
import type { Troubles } from './status/troubles.ts';
import type { ServiceTiers } from './tiers/service-tiers.ts';
import type { InferenceStatistics } from './generation/inference-statistics.ts';
import type { Next } from './generation/stages/stage.ts';
import type { UnreadAnswers } from './http/unread-answers.ts';

/** Sampling values that a model's files recommend; what is absent has OpenAI's default. */
export interface SamplingDefaults {
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
}

/** What a model's weights are stored in. */
export type ModelFormat = 'gguf' | 'safetensors' | 'onnx';

/** How a model was made, for clients that show it. */
export interface ModelDetails {
  /** Such as `llama`. */
  readonly family: string;
  readonly numParameters: number;
  /** What it is computed in, such as `int8`. */
  readonly precision: string;
  readonly format: ModelFormat;
  /** How its files are quantized, such as `Q4_K_M`; null where that is the precision. */
  readonly quantization: string | null;
  /** Its chat template; '' without one. */
  readonly template: string;
}

export interface ServedModel {
  /** The name clients use. */
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  /** Longest prompt plus output, in tokens. */
  readonly maxModelLen: number;
  readonly vocabSize: number;
  readonly samplingDefaults: SamplingDefaults;
  /** Left out where that is not known. */
  readonly details?: ModelDetails;
}

/** Both ends belong to it; lower goes first. */
export interface PriorityRange {
  readonly min: number;
  readonly max: number;
}

export interface ServerConfig {
  /** Address that the server listens on. */
  readonly host: string;
  /** Further names, in lower case, by which clients without keys may call it; `*` is any. */
  readonly allowedHosts: readonly string[];
  /** Whether this is a pod of Kubernetes, whose Services have names that end with `.svc`. */
  readonly isInCluster: boolean;
  /** Web pages that may use this server, such as `https://chat.example`; `*` is all. */
  readonly corsOrigins: readonly string[];
  /** Largest request body and WebSocket frame, in bytes. */
  readonly maxBodyBytes: number;
  /** Longest time of a request, waiting included, in milliseconds; null is no limit. */
  readonly requestTimeoutMs: number | null;
  /** Range of request priorities; others are clamped to it. */
  readonly priorities: PriorityRange;
  /** Whether clients with keys of their own find each other's prompts in the prefix cache. */
  readonly sharePrefixCache: boolean;
  /** Milliseconds of silence on an event stream before a comment line is sent. */
  readonly ssePingMs: number;
  /** Milliseconds between WebSocket pings; a socket that missed one is cut. */
  readonly webSocketPingMs: number;
  /** What /ready answers once the server is leaving. */
  readonly drainStatus: 404 | 503;
  /** Whether the log has the beginning of each prompt. */
  readonly logPrompts: boolean;
  /** Version of this server, as /version reports it. */
  readonly version: string;
}

export const DEFAULT_SERVER_CONFIG: Omit<ServerConfig, 'version'> = {
  host: '127.0.0.1',
  allowedHosts: [],
  isInCluster: false,
  corsOrigins: [],
  maxBodyBytes: LIMITS.bodyBytes,
  requestTimeoutMs: null,
  priorities: LIMITS.priorities,
  sharePrefixCache: false,
  ssePingMs: 15_000,
  webSocketPingMs: 30_000,
  drainStatus: 503,
  logPrompts: false,
};

/** What every model in memory has, whatever it computes. */
interface ServedRuntime extends Runtime {
  readonly model: { readonly id: string; readonly created: number };
  /** Of its processes: of the one that is best off, and the longest silence of one with work. */
  readonly engine: Pick<Engine, 'state' | 'silentMs'>;
  /** Its queue: takes nothing new after `close`, and is idle once all requests have ended. */
  readonly admission: Pick<Admission, 'onIdle' | 'close'>;
  /** Of its processes; left out where it has none. */
  pids?(): readonly (number | undefined)[];
}

/** A model that generates text, with all that is its own. */
export interface TextRuntime extends ServedRuntime {
  readonly kind: 'text';
  readonly generator: Generator;
  readonly engine: Engine;
  readonly admission: Pick<
    Admission,
    'requireRoom' | 'mostPerRequest' | 'onIdle' | 'close' | 'waiting' | 'running'
  >;
  readonly tokenizer: Pick<TextTokenizer, 'decode' | 'described' | 'idToToken' | 'pieces'>;
  readonly prompts: Omit<PromptEncoder, 'encodePairs'>;
  /** How the model writes tool calls and thoughts. */
  readonly chatFormat: ChatFormat;
  readonly grammars: Pick<GrammarChecker, 'check'>;
  /** Embeddings and scores, by what the model says after a text. */
  readonly encoder: TextEncoder;
  readonly model: ServedModel;
  /** LoRA adapters that requests pick; null or left out where there can be none. */
  readonly adapters?: ServedAdapters | null;
  readonly prefetcher: Pick<Prefetcher, 'prefetch'>;
  readonly pinned: Pick<PinnedPrefixes, 'pin'>;
  /** Null computes nothing ahead of a conversation's next turn. */
  readonly nextTurns: Pick<NextTurns, 'expect'> | null;
  /** Equal for models that give the same answers: for caches of them. */
  readonly buildId: string;
  /** Equal where weights, graph and tokenizer are, whatever computes them. */
  readonly contentId: string;
}

/** A text encoder: texts become vectors, or pairs of them scores. */
export interface EncoderRuntime extends ServedRuntime {
  readonly kind: 'encoder';
  readonly encoder: TextEncoder & Pick<TextModel, 'kind' | 'maxTokens' | 'dim' | 'stats'>;
}

/** Any ONNX model without state. */
export interface TensorRuntime extends ServedRuntime {
  readonly kind: 'tensors';
  readonly tensors: Pick<TensorModel, 'signature' | 'maxBatchSize' | 'stats' | 'infer'>;
}

export type AnyRuntime = TextRuntime | EncoderRuntime | TensorRuntime;

/**
 * Downloads a model of the hub, and has it served by its name there.
 * @param reference such as `hf:owner/name@revision`
 * @param onProgress told of bytes
 * @param signal gives it up; what was downloaded is kept
 * @throws InvalidRequestError saying why that is not possible, ModelControlError
 */
export type PullModel = (
  reference: string,
  onProgress: (done: number, total: number) => void,
  signal: AbortSignal,
) => Promise<void>;

/** What a model's files say of it, before it is loaded. */
export interface ModelFacts {
  /** Such as `llama`; null where that is not known. */
  readonly family: string | null;
  /** Longest text in tokens; null for what takes none, or where that is not known. */
  readonly maxModelLen: number | null;
  /** What may be asked of it. */
  readonly capabilities: readonly string[];
  readonly format: ModelFormat;
  /** As in ModelDetails; null where that is not known, too. */
  readonly quantization: string | null;
  readonly samplingDefaults: SamplingDefaults;
  /** Of its files. */
  readonly bytes: number;
}

/** @returns null where nothing is known */
export type DescribeModel = (definition: ModelDefinition) => Promise<ModelFacts | null>;

/** What all requests share. */
export interface ServerContext {
  readonly models: ModelRegistry<AnyRuntime>;
  /** Unix time in seconds. */
  readonly startedAt: number;
  readonly bodies: Pick<BodyReader, 'read' | 'readWithTail' | 'budget'>;
  readonly unread: UnreadAnswers;
  /** Stored responses. */
  readonly responses: ResponseStore;
  readonly config: ServerConfig;
  readonly keys: ApiKeys;
  readonly tiers: ServiceTiers;
  readonly metrics: MetricsHub;
  /** What went wrong of late. */
  readonly troubles: Troubles;
  /** How the last hour was. */
  readonly status: LastHour;
  /** What it was told to be. */
  readonly settings: () => readonly Setting[];
  /** Fed by the generators' `observe`. */
  readonly statistics: InferenceStatistics;
  readonly logger: Logger;
  readonly rates: RateLimits;
  /** What each client has had computed. */
  readonly usage: Usage;
  /** Answers that were generated before; null where none are kept. */
  readonly answers: GenerationCache | null;
  /** What generates at the moment. */
  readonly running: RunningRequests;
  readonly loop: Pick<LoopMonitor, 'stalledMs'>;
  /** Left out where nothing is known of models that are not loaded. */
  readonly describeModel?: DescribeModel;
  /** For answers that outlive the server; null or left out without --resume-key. */
  readonly resumption?: Resumption | null;
  /** Files and batches; left out where there is no folder for them. */
  readonly batches?: BatchService;
  /** For browsers; null or left out with --no-ui, or where it was not built. */
  readonly page?: PageFiles | null;
  /** Left out where nothing can be downloaded. */
  readonly pullModel?: PullModel;
  /** True once shutdown began, though requests may still be taken: /ready fails. */
  isLeaving(): boolean;
  /** True from then on when running requests finish, and new ones are rejected. */
  isDraining(): boolean;
}

/** What a request for a model is served with; see `acquireModel`. */
export interface ModelContext extends ServerContext, Omit<TextRuntime, keyof Runtime | 'kind'> {
  /** Which model of the registry it is. */
  readonly modelKey: ModelKey;
  /** That the request picked; null or left out for the model alone. */
  readonly adapter?: EngineAdapter | null;
  /** The stages that a generation of this model goes through. */
  readonly generate: Next;
  /** Generations of the request that may still run: they end when it lets the model go. */
  readonly started: Set<AbortController>;
  /** Keeps the model loaded and them running beyond the request, until the function that it returns is called. */
  keepLoaded(): () => void;
}

/** Hono's type parameter for every route of this server. */
export interface ServerEnv {
  Bindings: HttpBindings;
  /** `client` is set where a key was needed, and names its client. */
  Variables: {
    requestId: string;
    record: RequestRecord;
    client?: string;
    meter?: TokenMeter;
    unread: UnreadAnswers;
    /** The pattern of a route whose path was split by hand. */
    route?: string;
    /** Of the API whose form errors have; the request's own path if left out. */
    apiPath?: string;
    /** The `code` of the error that it was answered with. */
    errorCode?: string;
  };
}
