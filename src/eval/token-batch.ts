import type { Lockstep, RowInput } from './lockstep-decoder.ts';

/** One text on its way through the model. */
export interface TokenJob {
  readonly firstToken: number;
  /**
   * Called with the logits [vocab] after the first `length` tokens, for every length in order; the
   * logits are valid during the call only. Returns the next token, or null to end.
   */
  readonly next: (length: number, logits: Float32Array) => number | null;
}

/** A job in its slot, and what the slot computes next. */
interface Lane {
  readonly job: TokenJob;
  readonly input: RowInput;
}

/** Input of a slot without a job, where the next job of that slot begins. */
const IDLE: RowInput = { tokenId: 0, position: 0 };

/**
 * Runs jobs to their end, one token at a time and up to `numSlots` side by side: the graph that
 * serves has logits for one position of a slot and step, so this is how to get them all.
 * @param onStep called after each step with the number of jobs in it and the model's time
 */
export function runJobs(
  model: Lockstep,
  numSlots: number,
  jobs: Iterable<TokenJob>,
  onStep: (numLive: number, ms: number) => void,
): void {
  const waiting = jobs[Symbol.iterator]();
  let lanes: (Lane | null)[] = Array.from({ length: numSlots }, () => null);
  for (;;) {
    lanes = lanes.map((lane) => lane ?? admit(waiting));
    const live = lanes.slice(0, lanes.findLastIndex((lane) => lane !== null) + 1);
    if (live.length === 0) return;
    const start = performance.now();
    model.step(live.map((lane) => lane?.input ?? IDLE));
    onStep(live.filter((lane) => lane !== null).length, performance.now() - start);
    for (const [slot, lane] of live.entries()) {
      lanes[slot] = lane && advance(lane, model.logits(slot));
    }
  }
}

function admit(waiting: Iterator<TokenJob>): Lane | null {
  const { value: job, done } = waiting.next();
  return done === true ? null : { job, input: { tokenId: job.firstToken, position: 0 } };
}

function advance({ job, input }: Lane, logits: Float32Array): Lane | null {
  const length = input.position + 1;
  const tokenId = job.next(length, logits);
  return tokenId === null ? null : { job, input: { tokenId, position: length } };
}
