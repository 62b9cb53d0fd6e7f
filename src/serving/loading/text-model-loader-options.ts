/** Surroundings of models that generate text, which a loader of them has. */
import type { Logger } from 'pino';
import type { ClassOfCaller } from '../../front/generation/prompt-reader.ts';
import type { ImagePool } from '../../front/images/image-pool.ts';
import type { KvEventPublisher } from '../../front/kv-events/kv-event-publisher.ts';
import type { MetricsHub } from '../../observability/metrics-hub.ts';
import type { SloTracker } from '../../observability/slo/slo-tracker.ts';
import type { InferenceStatistics } from '../../server/generation/inference-statistics.ts';
import type { LoadingOption } from '../../settings/flag-sets.ts';
import type { Options } from '../../settings/options.ts';
import type { ServedLora } from '../plan/lora.ts';
import type { PinnedPrompt } from './pin-prompts.ts';

export interface TextModelLoaderOptions {
  /** Options of the command line. */
  readonly options: Options<LoadingOption>;
  /** Models that share the memory, for the default of a KV cache. */
  readonly numModels: number;
  readonly logger: Logger;
  readonly metrics: MetricsHub;
  readonly statistics: InferenceStatistics;
  /** Follows what is promised to service classes. */
  readonly targets: SloTracker;
  /** Service class of a client's requests that ask for none. */
  readonly classOf: ClassOfCaller;
  /** Whether several clients share the queue. */
  readonly isShared: () => boolean;
  readonly kvEvents: KvEventPublisher | null;
  /** LoRA adapters of all models; left out where requests pick none. */
  readonly lora?: ServedLora;
  /** Reads images of all models; each has a reader of its own if left out. Null for text alone. */
  readonly images?: ImagePool | null;
  /** Prompts that are computed before a model is ready, and pinned. */
  readonly prefetch?: readonly PinnedPrompt[];
}
