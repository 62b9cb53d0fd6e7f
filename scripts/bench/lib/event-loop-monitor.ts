/**
 * To be preloaded into a process with a message channel: answers every message with the delays of its
 * event loop since the message before.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/** In milliseconds beyond the time that the sampling timer was set to. */
export interface EventLoopDelays {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const RESOLUTION_MS = 1;

// Threads take over what their process preloads.
if (isMainThread && process.channel) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  process.on('message', () => {
    const delays: EventLoopDelays = {
      p50: late(histogram.percentile(50)),
      p99: late(histogram.percentile(99)),
      max: late(histogram.max),
    };
    process.send?.(delays);
    histogram.reset();
  });
  // Listening keeps the process alive otherwise.
  process.channel.unref();
}
