/** How well the promises to each service class are kept. */
import type { GenerationObserver } from '../../front/generation/generation-observer.ts';
import type { GenerationRequest } from '../../front/generation/generation.ts';
import type { ServiceClass } from '../../front/service-classes/service-class.ts';
import { RollingWindow } from './rolling-window.ts';

/** Kinds of targets: times to the first token, between tokens, and to the last. */
export const SLO_KINDS = ['ttft', 'itl', 'e2e'] as const;
export type SloKind = (typeof SLO_KINDS)[number];

/** Requests that are looked back on, and gaps between tokens. */
const NUM_REQUESTS = 1000;
const NUM_GAPS = 4096;
/** A request keeps to its time between tokens if all but this share of the gaps do. */
const LATE_SHARE = 0.05;

/** All times in milliseconds. */
export interface ClassRecord {
  readonly serviceClass: ServiceClass;
  readonly windows: Readonly<Record<SloKind, RollingWindow>>;
  /** Part of the time to the first token before the request had a place. */
  readonly queue: RollingWindow;
  /** Since the start. */
  numRequests: number;
  readonly numViolations: Record<SloKind, number>;
}

/** In milliseconds; null promises nothing. */
export function targetOf({ ttftMs, itlMs, deadlineMs }: ServiceClass, kind: SloKind) {
  if (kind === 'ttft') return ttftMs;
  return kind === 'itl' ? itlMs : deadlineMs;
}

export class SloTracker {
  readonly #records: ReadonlyMap<string, ClassRecord>;

  constructor(classes: readonly ServiceClass[]) {
    this.#records = new Map(classes.map((each) => [each.name, newRecord(each)]));
  }

  get records(): ClassRecord[] {
    return [...this.#records.values()];
  }

  /** For the text generator's `observe`. */
  observe({ serviceClass }: GenerationRequest): GenerationObserver {
    const record = this.#records.get(serviceClass?.name ?? '');
    return record === undefined ? UNOBSERVED : follow(record);
  }
}

const UNOBSERVED: GenerationObserver = {
  queued() {},
  admitted() {},
  tokens() {},
  finished() {},
};

function newRecord(serviceClass: ServiceClass): ClassRecord {
  return {
    serviceClass,
    windows: {
      ttft: new RollingWindow(NUM_REQUESTS),
      itl: new RollingWindow(NUM_GAPS),
      e2e: new RollingWindow(NUM_REQUESTS),
    },
    queue: new RollingWindow(NUM_REQUESTS),
    numRequests: 0,
    numViolations: { ttft: 0, itl: 0, e2e: 0 },
  };
}

function follow(record: ClassRecord): GenerationObserver {
  const { serviceClass, windows, queue, numViolations } = record;
  const { ttftMs, itlMs, deadlineMs } = serviceClass;
  let queuedAt = 0;
  let lastTokenAt: number | undefined;
  let numGaps = 0;
  let numLate = 0;
  return {
    queued(timeMs) {
      queuedAt = timeMs;
    },
    admitted(timeMs) {
      queue.add(timeMs - queuedAt);
    },
    tokens(numTokens, timeMs) {
      if (lastTokenAt === undefined) {
        windows.ttft.add(timeMs - queuedAt);
        if (ttftMs !== null && timeMs - queuedAt > ttftMs) numViolations.ttft++;
      } else {
        // Tokens that arrived together share the time since the last.
        const gapMs = (timeMs - lastTokenAt) / numTokens;
        for (let index = 0; index < numTokens; index++) windows.itl.add(gapMs);
        numGaps += numTokens;
        if (itlMs !== null && gapMs > itlMs) numLate += numTokens;
      }
      lastTokenAt = timeMs;
    },
    finished(outcome, timeMs) {
      if (outcome === 'rejected') return;
      const elapsedMs = timeMs - queuedAt;
      const isOverdue = deadlineMs !== null && elapsedMs >= deadlineMs;
      const isUnanswered = lastTokenAt === undefined && ttftMs !== null && elapsedMs > ttftMs;
      // A client that left early was promised no more.
      if (outcome === 'abort' && !isOverdue && !isUnanswered) return;
      record.numRequests++;
      if (isUnanswered) {
        windows.ttft.add(elapsedMs);
        numViolations.ttft++;
      }
      windows.e2e.add(elapsedMs);
      if (isOverdue) numViolations.e2e++;
      if (numLate > LATE_SHARE * numGaps) numViolations.itl++;
    },
  };
}
