import { formatMs } from '../format.ts';
import type { Exchange } from './exchange.ts';

/** Answer of the server, as far as it has come. */
export function Answer({ exchange }: { readonly exchange: Exchange }) {
  const { status, headers, text, headMs, totalMs, error } = exchange;
  return (
    <div class="answer">
      <p role="status">
        {status === null ? (
          error === null && 'Waiting …'
        ) : (
          <>
            <strong class={status < 400 ? 'fine' : 'fault'}>{status}</strong>
            {headMs !== null && ` after ${formatMs(headMs)}`}
            {totalMs === null ? ', and it goes on …' : `, whole after ${formatMs(totalMs)}`}
          </>
        )}
      </p>
      {error !== null && (
        <p class="fault" role="alert">
          {error}
        </p>
      )}
      {text !== '' && (
        <pre tabIndex={0} role="region" aria-label="Answer">
          {text}
        </pre>
      )}
      {headers.length > 0 && (
        <details>
          <summary>{headers.length} headers</summary>
          <pre tabIndex={0} role="region" aria-label="Headers of the answer">
            {headers.map(([name, value]) => `${name}: ${value}`).join('\n')}
          </pre>
        </details>
      )}
    </div>
  );
}
