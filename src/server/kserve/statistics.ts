/** Triton's statistics of models. */
import type { ServerContext } from '../context.ts';
import type { StatisticDuration } from '../generation/inference-statistics.ts';
import { modelsOf } from './metadata.ts';

/** Names are the protocol's, over REST and gRPC. */
export interface StatisticsEntry {
  readonly name: string;
  readonly version: string;
  /** Unix time in milliseconds. */
  readonly last_inference: number;
  readonly inference_count: number;
  readonly execution_count: number;
  readonly inference_stats: {
    readonly success: StatisticDuration;
    readonly fail: StatisticDuration;
    readonly queue: StatisticDuration;
    readonly compute_input: StatisticDuration;
    readonly compute_infer: StatisticDuration;
    readonly compute_output: StatisticDuration;
    readonly cache_hit: StatisticDuration;
    readonly cache_miss: StatisticDuration;
  };
  readonly memory_usage: readonly {
    readonly type: string;
    readonly id: number;
    readonly byte_size: number;
  }[];
}

const NONE: StatisticDuration = { count: 0, ns: 0 };

/** @param name null for all models. @throws ApiError 404 */
export function statisticsOf(
  context: ServerContext,
  name: string | null,
  version: string,
): readonly StatisticsEntry[] {
  const infos = name === null ? context.models.list() : modelsOf(context, name, version);
  return infos.map((info): StatisticsEntry => {
    const { lastInference, success, fail, queue, prefill, decode } = context.statistics.of(info);
    return {
      name: info.name,
      version: info.version,
      last_inference: lastInference,
      inference_count: success.count,
      // Batches change with every token; what Triton counts here is one for each inference.
      execution_count: success.count,
      inference_stats: {
        success,
        fail,
        queue,
        compute_input: prefill,
        compute_infer: decode,
        compute_output: NONE,
        cache_hit: NONE,
        cache_miss: NONE,
      },
      memory_usage:
        info.memoryBytes === 0 ? [] : [{ type: 'CPU', id: 0, byte_size: info.memoryBytes }],
    };
  });
}
