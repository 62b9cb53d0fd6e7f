import { formatDuration, formatNumber } from '../../format.ts';
import type { BenchProgress } from './run-load.ts';

interface ProgressProps {
  readonly progress: BenchProgress | null;
  readonly numRequests: number;
}

/** How far a running test is. */
export function Progress({ progress, numRequests }: ProgressProps) {
  const { numEnded = 0, numInFlight = 0, outputTokens = 0, elapsedMs = 0 } = progress ?? {};
  const rate = elapsedMs > 0 ? (outputTokens * 1000) / elapsedMs : 0;
  return (
    <div class="card bench-progress" role="status">
      <progress max={numRequests} value={numEnded} aria-label="Requests answered" />
      <p class="soft small numbers">
        {progress === null
          ? 'The first request, which is not counted …'
          : `${numEnded} of ${numRequests} answered, ${numInFlight} in flight, ${formatNumber(rate)} tokens/s, ${formatDuration(elapsedMs)}`}
      </p>
    </div>
  );
}
