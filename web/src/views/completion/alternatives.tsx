import type { MarkedToken } from './marked-text.ts';
import { formatProbability, NUM_LEVELS, visible } from './probability.ts';

interface AlternativesProps {
  readonly token: MarkedToken | null;
  readonly isRunning: boolean;
  /** Puts another token in its place, and goes on from there. */
  readonly onChoose: (token: MarkedToken, text: string) => void;
}

/** The token at the cursor: how likely it was, and what else there could have been. */
export function Alternatives({ token, isRunning, onChoose }: AlternativesProps) {
  return (
    <section class="pad-alternatives" aria-labelledby="alternatives">
      <h2 id="alternatives">Token at the cursor</h2>
      {token === null ? (
        <p class="soft small">
          Put the cursor into colored text to see what else the model could have written, and to
          continue from there in another way.
        </p>
      ) : (
        <>
          <p class="small">
            <code class="token-text">{visible(token.text)}</code>{' '}
            {token.logprob === null
              ? 'is the first token: nothing comes before it.'
              : `had ${formatProbability(token.logprob)}`}
          </p>
          <ul>
            {token.alternatives.map(([text, logprob]) => (
              <li key={text}>
                <button
                  type="button"
                  class={text === token.text ? 'quiet alternative taken' : 'quiet alternative'}
                  disabled={isRunning}
                  onClick={() => onChoose(token, text)}
                >
                  <meter min={0} max={1} value={Math.exp(logprob)} aria-hidden="true" />
                  <span class="hidden-text">Continue with </span>
                  <code>{visible(text)}</code>
                  <span class="numbers">{formatProbability(logprob)}</span>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      <p class="legend small soft">
        <span>likely</span>
        {Array.from({ length: NUM_LEVELS }, (_, level) => (
          <i key={level} class={`level-${level}`} />
        ))}
        <span>unlikely</span>
      </p>
    </section>
  );
}
