/** Services that all requests share; `src/serving` composes them. */
import type { HttpBindings } from '@hono/node-server';
import type { Logger } from 'pino';
import type { AudioPool } from '../front/audio/audio-pool.ts';
import type { AdapterShelf } from '../front/adapters/adapter-shelf.ts';
import type { ImageSources } from '../front/images/image-sources.ts';
import type { TokenMeter } from '../front/caller.ts';
import type { RequestRecord } from '../front/request-record.ts';
import type { GenerationCache } from '../front/response-cache/generation-cache.ts';
import type { ModelDefinition } from '../front/registry/model-definition.ts';
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
import type { UnreadAnswers } from './http/unread-answers.ts';
import type { ServerConfig } from './config.ts';
import type { SamplingDefaults, ModelFormat, AnyRuntime } from './runtimes.ts';

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

/** Facts that a model's files tell before it is loaded. */
export interface ModelFacts {
  /** Such as `llama`; null where that is not known. */
  readonly family: string | null;
  /** Longest text in tokens; null for what takes none, or where that is not known. */
  readonly maxModelLen: number | null;
  /** Kinds of requests that it can serve. */
  readonly capabilities: readonly string[];
  readonly format: ModelFormat;
  /** As in ModelDetails; null where that is not known, too. */
  readonly quantization: string | null;
  readonly samplingDefaults: SamplingDefaults;
  /** Size of its files. */
  readonly bytes: number;
}

/** @returns null where nothing is known */
export type DescribeModel = (definition: ModelDefinition) => Promise<ModelFacts | null>;

/** Services that all requests share. */
export interface ServerContext {
  readonly models: ModelRegistry<AnyRuntime>;
  /** LoRA adapters of all models, loaded or not. */
  readonly adapters: AdapterShelf;
  /** Unix time in seconds. */
  readonly startedAt: number;
  readonly bodies: Pick<BodyReader, 'read' | 'readWithTail' | 'budget'>;
  readonly unread: UnreadAnswers;
  /** Images that requests name. */
  readonly images: ImageSources;
  /** Reads sound that requests have. */
  readonly audio: Pick<AudioPool, 'open' | 'features'>;
  /** Stored responses. */
  readonly responses: ResponseStore;
  readonly config: ServerConfig;
  readonly keys: ApiKeys;
  readonly tiers: ServiceTiers;
  readonly metrics: MetricsHub;
  /** Recent errors. */
  readonly troubles: Troubles;
  /** Figures of the last hour. */
  readonly status: LastHour;
  /** Settings that it was started with, for the operator's page. */
  readonly settings: () => readonly Setting[];
  /** Fed by the generators' `observe`. */
  readonly statistics: InferenceStatistics;
  readonly logger: Logger;
  readonly rates: RateLimits;
  /** Tokens that each client has had computed. */
  readonly usage: Usage;
  /** Answers that were generated before; null where none are kept. */
  readonly answers: GenerationCache | null;
  /** Generations that run or wait. */
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
    /** Path of the API whose form errors have; the request's own path if left out. */
    apiPath?: string;
    /** The `code` of the error that it was answered with. */
    errorCode?: string;
  };
}
