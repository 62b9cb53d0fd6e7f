import { heardByMany } from '../heard-by-many.ts';
import type { Admission, AdmissionRequest, Release } from '../queue/admission.ts';

/** Places that one request holds, of as many as it asked for. */
export interface Places {
  /** Fulfilled with the first. @throws QueueFullError, ShuttingDownError; the signal's reason on abort */
  readonly first: Promise<void>;
  /** Places that it has by now. */
  readonly count: number;
  /** Gives back what it has, and leaves the queue. */
  release(): void;
}

/**
 * Takes so many places in the queue at once. One is enough to begin with: a request that waited for all
 * of them while it holds some could wait for another that does the same.
 */
export function takePlaces(
  admission: Pick<Admission, 'acquire'>,
  request: AdmissionRequest,
  wanted: number,
  signal: AbortSignal,
): Places {
  const leaving = new AbortController();
  const either = heardByMany(signal, leaving.signal);
  const held: Release[] = [];
  const acquired = Array.from({ length: wanted }, async () => {
    const release = await admission.acquire(either, request);
    if (either.aborted) release();
    else held.push(release);
  });
  const release = (): void => {
    leaving.abort(new Error('the request ended'));
    for (const give of held.splice(0)) give();
  };
  // A refusal of any comes before all places that are given, and ends the request.
  const first = Promise.race(acquired);
  for (const place of acquired) place.catch(() => {});
  return {
    first,
    get count() {
      return held.length;
    },
    release,
  };
}
