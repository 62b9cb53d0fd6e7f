import type { ObserveGeneration } from './generation-observer.ts';

/** Passes each request on to every observer. */
export function observeAll(...observes: readonly ObserveGeneration[]): ObserveGeneration {
  return (request) => {
    const observers = observes
      .map((observe) => observe(request))
      .filter((observer) => observer !== null);
    return {
      queued(timeMs) {
        for (const observer of observers) observer.queued(timeMs);
      },
      admitted(timeMs) {
        for (const observer of observers) observer.admitted(timeMs);
      },
      tokens(numTokens, timeMs) {
        for (const observer of observers) observer.tokens(numTokens, timeMs);
      },
      finished(outcome, timeMs, detokenizeMs) {
        for (const observer of observers) observer.finished(outcome, timeMs, detokenizeMs);
      },
    };
  };
}
