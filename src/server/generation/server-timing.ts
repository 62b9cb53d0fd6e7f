/** Where the time of a request went, for its `Server-Timing` header. */
import type { GenerationObserver } from '../../front/generation/generation-observer.ts';
import type { RequestState } from '../operating/running-requests.ts';
import type { GenerationRequest } from '../../front/generation/generation.ts';

/** Times of `performance.now()`; of a request with many sequences the first, and the last end. */
interface Course {
  queuedAt: number;
  admittedAt?: number;
  firstTokenAt?: number;
  finishedAt?: number;
}

/** Where the time of a request went, in milliseconds. */
export interface GenerationTimes {
  /** Until it was admitted. */
  readonly queueMs: number;
  /** From there until the first token. */
  readonly prefillMs: number;
  /** From there until the last. */
  readonly decodeMs: number;
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

  /** How far a request has come. */
  stateOf(promptTokenIds: Int32Array): RequestState {
    const course = this.#courses.get(promptTokenIds);
    if (course?.admittedAt === undefined) return 'waiting';
    return course.firstTokenAt === undefined ? 'prefill' : 'decode';
  }

  /** The header's value. @returns null before it has finished */
  header(promptTokenIds: Int32Array): string | null {
    const times = this.timesOf(promptTokenIds);
    if (times === null) return null;
    const { queueMs, prefillMs, decodeMs } = times;
    return [entry('queue', queueMs), entry('prefill', prefillMs), entry('decode', decodeMs)].join(
      ', ',
    );
  }

  /** @returns null before it has finished */
  timesOf(promptTokenIds: Int32Array): GenerationTimes | null {
    const course = this.#courses.get(promptTokenIds);
    if (course === undefined) return null;
    const { queuedAt, admittedAt, firstTokenAt, finishedAt } = course;
    if (admittedAt === undefined || firstTokenAt === undefined || finishedAt === undefined) {
      return null;
    }
    return {
      queueMs: admittedAt - queuedAt,
      prefillMs: firstTokenAt - admittedAt,
      decodeMs: finishedAt - firstTokenAt,
    };
  }
}

function entry(name: string, durationMs: number): string {
  return `${name};dur=${Math.max(0, durationMs).toFixed(1)}`;
}
