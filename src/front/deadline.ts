/** Signals that also abort when time is over. */

/** @param timeoutMs null is no limit */
export function withDeadline(signal: AbortSignal, timeoutMs: number | null): AbortSignal {
  return timeoutMs === null ? signal : AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
}

/**
 * Whether `signal` aborted because the client has left. After a deadline the client still waits for
 * an answer.
 */
export function hasLeft({ aborted, reason }: AbortSignal): boolean {
  return aborted && !isTimeout(reason);
}

export function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}

/** How a request ended whose signal has aborted, or whose answer nobody reads to its end. */
export function outcomeOfAbort({ reason }: AbortSignal): 'abort' | 'timeout' {
  return isTimeout(reason) ? 'timeout' : 'abort';
}
