import { percent } from '../model/token-text.ts';
import type { Token, TokenChoice } from '../model/types.ts';

interface AlternativesProps {
  readonly token: Token;
  /** In pixels of the view around it. */
  readonly place: { readonly left: number; readonly top: number; readonly isAbove: boolean };
  /** Left out while the answer can't go on. */
  readonly onPick: ((choice: TokenChoice) => void) | undefined;
}

/** Tokens that could have been instead, the likeliest first. */
export function Alternatives({ token, place, onPick }: AlternativesProps) {
  const isListed = token.top.some((choice) => choice.token === token.token);
  const choices: readonly TokenChoice[] = isListed ? token.top : [token, ...token.top];
  return (
    <div
      class={place.isAbove ? 'alternatives above' : 'alternatives'}
      role="group"
      aria-label="Go on with another token from here"
      style={{ left: `${place.left}px`, top: `${place.top}px` }}
    >
      {choices.map((choice, index) => (
        <button
          key={index}
          type="button"
          class={choice.token === token.token ? 'alternative taken' : 'alternative'}
          disabled={onPick === undefined}
          title="Go on from here with this token"
          onClick={() => onPick?.(choice)}
        >
          <code>{spell(choice.token)}</code>
          <span class="share">
            <span style={{ width: `${Math.exp(choice.logprob) * 100}%` }} />
          </span>
          <span class="numbers">{percent(choice.logprob)}</span>
        </button>
      ))}
    </div>
  );
}

function spell(token: string): string {
  return token.replaceAll(' ', '␣').replaceAll('\n', '↵').replaceAll('\t', '⇥') || '∅';
}
