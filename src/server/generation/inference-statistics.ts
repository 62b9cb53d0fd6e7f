/** How many sequences each model generated and how long it took, as Triton's statistics tell it. */
import type { GenerationObserver } from '../../front/generation/generation-observer.ts';
import { keyOf, type ModelKey } from '../../front/registry/model-definition.ts';

/** Cumulative since the server started. */
export interface StatisticDuration {
  readonly count: number;
  readonly ns: number;
}

export interface ModelStatistics {
  /** Unix time in milliseconds when the last one began; 0 if there was none. */
  readonly lastInference: number;
  /** From the queue to the end. */
  readonly success: StatisticDuration;
  readonly fail: StatisticDuration;
  /** Until it was admitted. */
  readonly queue: StatisticDuration;
  /** From then to the first token. */
  readonly prefill: StatisticDuration;
  /** From there to the last. */
  readonly decode: StatisticDuration;
}

const NONE: StatisticDuration = { count: 0, ns: 0 };
const NO_STATISTICS: ModelStatistics = {
  lastInference: 0,
  success: NONE,
  fail: NONE,
  queue: NONE,
  prefill: NONE,
  decode: NONE,
};

export class InferenceStatistics {
  readonly #models = new Map<string, ModelStatistics>();

  of(model: ModelKey): ModelStatistics {
    return this.#models.get(keyOf(model)) ?? NO_STATISTICS;
  }

  /** For the text generator's `observe`. */
  observe(model: ModelKey): GenerationObserver {
    const key = keyOf(model);
    let queuedAt = 0;
    let admittedAt: number | undefined;
    let firstTokenAt: number | undefined;
    return {
      queued: (timeMs) => {
        queuedAt = timeMs;
        this.#models.set(key, { ...this.of(model), lastInference: Date.now() });
      },
      admitted: (timeMs) => {
        admittedAt ??= timeMs;
      },
      tokens: (_numTokens, timeMs) => {
        firstTokenAt ??= timeMs;
      },
      finished: (outcome, timeMs) => {
        const before = this.of(model);
        const admitted = admittedAt ?? timeMs;
        const first = firstTokenAt ?? timeMs;
        if (outcome !== 'stop' && outcome !== 'length') {
          this.#models.set(key, { ...before, fail: plus(before.fail, timeMs - queuedAt) });
          return;
        }
        this.#models.set(key, {
          ...before,
          success: plus(before.success, timeMs - queuedAt),
          queue: plus(before.queue, admitted - queuedAt),
          prefill: plus(before.prefill, first - admitted),
          decode: plus(before.decode, timeMs - first),
        });
      },
    };
  }
}

function plus({ count, ns }: StatisticDuration, ms: number): StatisticDuration {
  return { count: count + 1, ns: ns + Math.max(0, Math.round(ms * 1e6)) };
}
