import { useMemo, useState } from 'preact/hooks';
import { percent, piecesOf, textWith, type TokenPiece } from '../model/token-text.ts';
import type { Message, TokenChoice } from '../model/types.ts';

interface TokenViewProps {
  readonly message: Message;
  /** Told what the answer is to begin with; left out while that is not possible. */
  readonly onGoOn: ((given: string) => void) | undefined;
}

/** The answer's tokens, the less likely the more colored. Left and Right go through them. */
export function TokenView({ message, onGoOn }: TokenViewProps) {
  const { content, givenLength = 0, tokens = [] } = message;
  const pieces = useMemo(() => piecesOf(tokens), [tokens]);
  const [active, setActive] = useState<number | null>(null);
  const piece = active === null ? undefined : pieces[active];
  const given = content.slice(0, givenLength);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(pieces.length - 1, (active ?? -step) + step));
    setActive(next);
  };
  return (
    <div class="token-view">
      <div
        class="token-text"
        tabIndex={0}
        role="group"
        aria-label="Tokens: Left and Right show alternatives"
        onKeyDown={move}
      >
        {given !== '' && <span class="given">{given}</span>}
        {pieces.map(({ text, from }, index) => (
          <span
            key={from}
            class={`token ${levelOf(tokens[from]?.logprob ?? 0)}${index === active ? ' active' : ''}`}
            onMouseEnter={() => setActive(index)}
            onClick={() => setActive(index)}
          >
            {text.replaceAll('\n', '↵\n')}
          </span>
        ))}
      </div>
      {piece === undefined ? (
        <p class="soft small">Point at a token to see what else it could have been.</p>
      ) : (
        <Alternatives
          message={message}
          piece={piece}
          onPick={onGoOn && ((choice) => onGoOn(given + textWith(tokens, piece.from, choice)))}
        />
      )}
    </div>
  );
}

interface AlternativesProps {
  readonly message: Message;
  readonly piece: TokenPiece;
  readonly onPick: ((choice: TokenChoice) => void) | undefined;
}

function Alternatives({ message, piece, onPick }: AlternativesProps) {
  const token = message.tokens?.[piece.from];
  if (token === undefined) return null;
  const isListed = token.top.some((choice) => choice.token === token.token);
  const choices: readonly TokenChoice[] = isListed ? token.top : [token, ...token.top];
  return (
    <div class="alternatives" role="group" aria-label="Go on with another token from here">
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
          <meter min={0} max={1} value={Math.exp(choice.logprob)} aria-hidden="true" />
          <span class="numbers">{percent(choice.logprob)}</span>
        </button>
      ))}
    </div>
  );
}

function spell(token: string): string {
  return token.replaceAll(' ', '␣').replaceAll('\n', '↵').replaceAll('\t', '⇥') || '∅';
}

/** @param logprob natural logarithm */
function levelOf(logprob: number): string {
  const share = Math.exp(logprob);
  if (share >= 0.9) return 'sure';
  if (share >= 0.5) return 'likely';
  return share >= 0.1 ? 'open' : 'rare';
}
