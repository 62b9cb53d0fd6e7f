import { useCallback, useEffect, useState } from 'preact/hooks';
import { apiKey } from '../../api/key.ts';
import { ServerError } from '../../api/request.ts';
import { readStatus, type ServerStatus } from '../../api/status.ts';
import { withNewer } from './history.ts';

const POLL_MS = 2000;

export interface StatusPoll {
  /** Null until the server has told it; the last one when it does not any more. */
  readonly status: ServerStatus | null;
  /** Why the last look failed; null when it did not. */
  readonly failure: Error | null;
  /** Looks again now. */
  readonly refresh: () => void;
}

/** Looks at the server every few seconds, while the page is seen. */
export function useStatus(): StatusPoll {
  const [status, setStatus] = useState<ServerStatus | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  const [round, setRound] = useState(0);
  const refresh = useCallback(() => setRound((before) => before + 1), []);
  const key = apiKey.value;
  useEffect(() => {
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last: ServerStatus | null = null;
    const look = async () => {
      clearTimeout(timer);
      if (!document.hidden) {
        try {
          const since = last?.history.times.at(-1) ?? 0;
          const next = await readStatus(since, leaving.signal);
          last = withNewer(last, next);
          setStatus(last);
          setFailure(null);
        } catch (error) {
          if (leaving.signal.aborted) return;
          setFailure(error instanceof Error ? error : new Error(String(error)));
          // Asking again and again with a key that is not the operator's helps nobody.
          if (error instanceof ServerError && [401, 403].includes(error.status)) return;
        }
      }
      if (!leaving.signal.aborted) timer = setTimeout(() => void look(), POLL_MS);
    };
    const seen = () => {
      if (!document.hidden) void look();
    };
    document.addEventListener('visibilitychange', seen);
    void look();
    return () => {
      leaving.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [key, round]);
  return { status, failure, refresh };
}
