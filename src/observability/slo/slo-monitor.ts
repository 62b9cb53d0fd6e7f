/** Logs for the operator when a target is missed, and the likely cause. */
import type { Logger } from 'pino';
import {
  type ClassRecord,
  SLO_KINDS,
  type SloKind,
  targetOf,
  type SloTracker,
} from './slo-tracker.ts';

/** Fewer requests say nothing. */
const MIN_REQUESTS = 20;
/** The worst requests wait this many times as long as the usual ones. */
const DIVERGENCE = 5;
/** From this share of the KV cache's memory on it is short. */
const FULL = 0.9;

/** Shortage of memory in the engines, over all models. */
export interface Pressure {
  /** Usage of the fullest KV cache, 0 to 1. */
  readonly kvCacheUsage: number;
  readonly numPreemptions: number;
}

export type LikelyCause = 'preemption' | 'memory' | 'queue' | 'computing';

/** Reported trouble, by class and kind: each once, until it is over. */
type Trouble = 'late' | 'uneven' | null;

export class SloMonitor {
  readonly #tracker: SloTracker;
  readonly #pressure: () => Pressure;
  readonly #logger: Pick<Logger, 'warn' | 'info'>;
  readonly #told = new Map<string, Trouble>();
  readonly #numSeen = new Map<string, number>();
  #numPreemptions = 0;

  constructor(
    tracker: SloTracker,
    pressure: () => Pressure,
    logger: Pick<Logger, 'warn' | 'info'>,
  ) {
    this.#tracker = tracker;
    this.#pressure = pressure;
    this.#logger = logger;
  }

  /** Checks every `everyMs` milliseconds. @returns ends that */
  start(everyMs: number): () => void {
    const timer = setInterval(() => this.check(), everyMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  check(): void {
    const pressure = this.#pressure();
    const newPreemptions = pressure.numPreemptions - this.#numPreemptions;
    this.#numPreemptions = pressure.numPreemptions;
    for (const record of this.#tracker.records) {
      const { name } = record.serviceClass;
      const isNew = record.numRequests !== (this.#numSeen.get(name) ?? 0);
      this.#numSeen.set(name, record.numRequests);
      if (record.numRequests < MIN_REQUESTS || !isNew) continue;
      const cause = likelyCause(record, { ...pressure, newPreemptions });
      for (const kind of SLO_KINDS) this.#checkKind(record, kind, cause);
    }
  }

  #checkKind(record: ClassRecord, kind: SloKind, cause: LikelyCause): void {
    const { serviceClass } = record;
    const targetMs = targetOf(serviceClass, kind);
    const [p50, p95, p99] = record.windows[kind].quantiles(0.5, 0.95, 0.99);
    const isLate = targetMs !== null && p95 > targetMs;
    // Answers are of different lengths: only waiting should be alike.
    const isUneven = kind === 'ttft' && p99 > DIVERGENCE * p50;
    const trouble: Trouble = isLate ? 'late' : isUneven ? 'uneven' : null;
    const key = `${serviceClass.name} ${kind}`;
    const before = this.#told.get(key) ?? null;
    if (trouble === before) return;
    this.#told.set(key, trouble);
    const facts = {
      class: serviceClass.name,
      slo: kind,
      target_ms: targetMs,
      p50_ms: Math.round(p50),
      p95_ms: Math.round(p95),
      p99_ms: Math.round(p99),
    };
    if (trouble === null) this.#logger.info(facts, 'service class: its target is met again');
    else this.#logger.warn({ ...facts, likely_cause: cause }, MESSAGES[trouble]);
  }
}

const MESSAGES: Readonly<Record<Exclude<Trouble, null>, string>> = {
  late: 'service class: p95 is over its target',
  uneven: 'service class: p99 is over 5 times p50',
};

/** Why requests of a class wait. */
export function likelyCause(
  { queue, windows }: Pick<ClassRecord, 'queue' | 'windows'>,
  { kvCacheUsage, newPreemptions }: Pressure & { readonly newPreemptions: number },
): LikelyCause {
  if (newPreemptions > 0) return 'preemption';
  if (kvCacheUsage >= FULL) return 'memory';
  const [queued] = queue.quantiles(0.95);
  const [first] = windows.ttft.quantiles(0.95);
  return queued > first / 2 ? 'queue' : 'computing';
}
