import type { MessageInitShape } from '@bufbuild/protobuf';
import type { StatisticDuration } from '../server/generation/inference-statistics.ts';
import type { StatisticsEntry } from '../server/kserve/statistics.ts';
import type { ModelStatisticsSchema } from './proto/inference_pb.ts';

export function statisticsMessage(
  entry: StatisticsEntry,
): MessageInitShape<typeof ModelStatisticsSchema> {
  const stats = entry.inference_stats;
  return {
    name: entry.name,
    version: entry.version,
    lastInference: BigInt(entry.last_inference),
    inferenceCount: BigInt(entry.inference_count),
    executionCount: BigInt(entry.execution_count),
    inferenceStats: {
      success: duration(stats.success),
      fail: duration(stats.fail),
      queue: duration(stats.queue),
      computeInput: duration(stats.compute_input),
      computeInfer: duration(stats.compute_infer),
      computeOutput: duration(stats.compute_output),
      cacheHit: duration(stats.cache_hit),
      cacheMiss: duration(stats.cache_miss),
    },
    memoryUsage: entry.memory_usage.map(({ type, id, byte_size: byteSize }) => ({
      type,
      id: BigInt(id),
      byteSize: BigInt(Math.round(byteSize)),
    })),
  };
}

function duration({ count, ns }: StatisticDuration) {
  return { count: BigInt(count), ns: BigInt(ns) };
}
