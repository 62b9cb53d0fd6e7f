/** Sends a request and shows its answer while it comes. */
import { ROOT } from '../root.ts';

/** Characters of an answer that are shown. */
const MOST_SHOWN = 500_000;

export interface Exchange {
  readonly status: number | null;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  /** Milliseconds to the head of the answer, and to its end. */
  readonly headMs: number | null;
  readonly totalMs: number | null;
  /** Why there is no answer, or no end of it; null when there is. */
  readonly error: string | null;
}

export const NOTHING_YET: Exchange = {
  status: null,
  headers: [],
  text: '',
  headMs: null,
  totalMs: null,
  error: null,
};

/** Never rejects. @param show is called with the answer as far as it has come */
export async function exchange(
  address: string,
  init: RequestInit,
  show: (exchange: Exchange) => void,
): Promise<void> {
  const startedAt = performance.now();
  const elapsed = () => performance.now() - startedAt;
  let shown = NOTHING_YET;
  const change = (fields: Partial<Exchange>) => show((shown = { ...shown, ...fields }));
  try {
    const response = await fetch(ROOT + address, init);
    const { status, headers, body } = response;
    change({ status, headers: [...headers], headMs: elapsed() });
    let text = '';
    if (body !== null) {
      const reader = body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
        if (text.length > MOST_SHOWN) {
          await reader.cancel();
          throw new Error(
            `Only the first ${MOST_SHOWN.toLocaleString('en-US')} characters are shown.`,
          );
        }
        change({ text });
      }
    }
    const isJson = (headers.get('content-type') ?? '').includes('json');
    change({ text: isJson ? pretty(text) : text, totalMs: elapsed() });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    change({ error: init.signal?.aborted ? 'Stopped.' : reason, totalMs: elapsed() });
  }
}

/** Lines of JSON stay as they are. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
