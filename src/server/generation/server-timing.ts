/** Where the time of a request went, for its `Server-Timing` header. */
import type { GenerationObserver } from '../../front/generation/generation-observer.ts';
import type { GenerationRequest } from '../../front/generation/generation.ts';

/** Times of `performance.now()`; of a request with many sequences the first, and the last end. */
interface Course {
  queuedAt: number;
  admittedAt?: number;
  firstTokenAt?: number;
  finishedAt?: number;
}

/** Remembers the times of each request as long as its prompt lives. */
export class ServerTimings {
  /** By prompt: all sequences of a request share it. */
  readonly #courses = new WeakMap<Int32Array, Course>();

  /** For the text generator's `observe`. */
  observe({ promptTokenIds }: GenerationRequest): GenerationObserver {
    const course = this.#courses.get(promptTokenIds) ?? { queuedAt: Infinity };
    this.#courses.set(promptTokenIds, course);
    return {
      queued(timeMs) {
        course.queuedAt = Math.min(course.queuedAt, timeMs);
      },
      admitted(timeMs) {
        course.admittedAt ??= timeMs;
      },
      tokens(_numTokens, timeMs) {
        course.firstTokenAt ??= timeMs;
      },
      finished(_outcome, timeMs) {
        course.finishedAt = timeMs;
      },
    };
  }

  /**
   * The header's value, in milliseconds: `queue` until it was admitted, `prefill` until the first
   * token, `decode` until the last.
   * @returns null before it has finished.
   */
  header(promptTokenIds: Int32Array): string | null {
    const course = this.#courses.get(promptTokenIds);
    if (course === undefined) return null;
    const { queuedAt, admittedAt, firstTokenAt, finishedAt } = course;
    if (admittedAt === undefined || firstTokenAt === undefined || finishedAt === undefined) {
      return null;
    }
    return [
      entry('queue', admittedAt - queuedAt),
      entry('prefill', firstTokenAt - admittedAt),
      entry('decode', finishedAt - firstTokenAt),
    ].join(', ');
  }
}

function entry(name: string, durationMs: number): string {
  return `${name};dur=${Math.max(0, durationMs).toFixed(1)}`;
}
