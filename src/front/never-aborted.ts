import { setMaxListeners } from 'node:events';

/** A signal for generations that nobody aborts. */
export const NEVER_ABORTED: AbortSignal = new AbortController().signal;
// All that run listen; Node would report more than ten listeners as a leak.
setMaxListeners(0, NEVER_ABORTED);
