/** Runs a load test from this page, with the parts of `chairlift bench`. */
import { type ArrivalOptions, arrivalTimes } from '../../../../src/bench/arrivals.ts';
import { requestBody } from '../../../../src/bench/backend.ts';
import type { BenchmarkRun } from '../../../../src/bench/benchmark-run.ts';
import { computeMetrics } from '../../../../src/bench/bench-metrics.ts';
import { Random } from '../../../../src/bench/random.ts';
import { type RequestRecord, RequestRecorder } from '../../../../src/bench/recorder.ts';
import { syntheticItems, type WorkItem } from '../../../../src/bench/workload.ts';
import { listModels } from '../../api/models.ts';
import { TokenSocket } from '../../api/token-socket.ts';
import { type BenchPlan, MOST_SECONDS } from './plan.ts';

export interface BenchResult {
  readonly plan: BenchPlan;
  readonly model: string;
  readonly run: BenchmarkRun;
  /** Why it ended before all had been answered; null if it did not. */
  readonly cutShort: string | null;
}

export interface BenchProgress {
  readonly numEnded: number;
  readonly numInFlight: number;
  /** Tokens of what has been answered by now. */
  readonly outputTokens: number;
  readonly elapsedMs: number;
}

/** Every vocabulary has as many tokens; the command takes the same. */
const TOKEN_IDS = 256;
const PERCENTILES = [50, 90, 95, 99];

/**
 * @param signal stops it; what was answered by then is reported
 * @throws Error when the server takes no WebSocket, or fails the first request
 */
export async function runLoad(
  plan: BenchPlan,
  model: string,
  onProgress: (progress: BenchProgress) => void,
  signal: AbortSignal,
): Promise<BenchResult> {
  const models = await listModels(signal);
  const maxModelLen = models.find(({ id }) => id === model)?.max_model_len ?? null;
  const random = new Random(plan.seed);
  const fixed = (mean: number) => ({ kind: 'fixed' as const, mean, rangeRatio: 0 });
  const workload = {
    input: fixed(plan.promptTokens),
    output: fixed(plan.outputTokens),
    tokenIdLimit: TOKEN_IDS,
    maxModelLen,
  };
  const arrivals: ArrivalOptions = { rate: plan.rate === 0 ? Infinity : plan.rate, burstiness: 1 };
  const socket = await TokenSocket.open();
  const ending = AbortSignal.any([signal, AbortSignal.timeout(MOST_SECONDS * 1000)]);
  const close = () => socket.close();
  ending.addEventListener('abort', close);
  try {
    ending.throwIfAborted();
    const send = (item: WorkItem, recorder: RequestRecorder) =>
      socket.stream(
        requestBody(item, { backend: 'openai', model, ignoreEos: true, extra: {} }),
        recorder,
      );
    const [first] = syntheticItems(workload, 1, random);
    if (first) await warmUp(first, send);
    const startedAt = new Date();
    const { records, durationMs } = await sendAll(
      syntheticItems(workload, plan.requests, random),
      { due: arrivalTimes(plan.requests, arrivals, random), concurrency: plan.concurrency },
      { send, onProgress, signal: ending },
    );
    const metrics = computeMetrics(records, durationMs, { goodput: {}, percentiles: PERCENTILES });
    const run = { startedAt, arrivals, records, durationMs, metrics };
    return { plan, model, run, cutShort: cutBy(signal, ending) };
  } finally {
    ending.removeEventListener('abort', close);
    socket.close();
  }
}

function cutBy(signal: AbortSignal, ending: AbortSignal): string | null {
  if (signal.aborted) return 'You stopped it.';
  return ending.aborted
    ? `It was stopped after ${MOST_SECONDS} s, the most that it may take.`
    : null;
}

type Send = (item: WorkItem, recorder: RequestRecorder) => Promise<RequestRecord>;

async function warmUp(item: WorkItem, send: Send): Promise<void> {
  const recorder = new RequestRecorder(() => performance.now(), 0, item.promptTokens);
  const { error } = await send({ ...item, maxTokens: 1 }, recorder);
  if (error !== null) throw new Error(`The first request failed: ${error}`);
}

/** How often a page is told how far it is. */
const TELL_MS = 200;

/** Sends each when it is due and there is room; ends when all have, or with `signal`. */
async function sendAll(
  items: readonly WorkItem[],
  { due, concurrency }: { readonly due: readonly number[]; readonly concurrency: number },
  {
    send,
    onProgress,
    signal,
  }: {
    readonly send: Send;
    readonly onProgress: (progress: BenchProgress) => void;
    readonly signal: AbortSignal;
  },
): Promise<{ readonly records: RequestRecord[]; readonly durationMs: number }> {
  const begunAt = performance.now();
  const now = () => performance.now() - begunAt;
  const records: RequestRecord[] = [];
  let numSent = 0;
  let outputTokens = 0;
  const tell = () =>
    onProgress({
      numEnded: records.length,
      numInFlight: numSent - records.length,
      outputTokens,
      elapsedMs: now(),
    });
  const telling = setInterval(tell, TELL_MS);
  // Each worker is a place: it takes the next request when it has no other.
  const queue = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of queue) {
      const dueMs = due[index] ?? 0;
      await pause(dueMs - now(), signal);
      if (signal.aborted) return;
      numSent++;
      const record = await send(item, new RequestRecorder(now, dueMs, item.promptTokens));
      // Requests cut short by the stop say nothing of the server.
      if (signal.aborted) return;
      records.push(record);
      outputTokens += record.outputTokens;
    }
  };
  const workers = Array.from({ length: Math.min(concurrency, items.length) }, work);
  await Promise.all(workers).finally(() => clearInterval(telling));
  tell();
  return { records, durationMs: now() };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
