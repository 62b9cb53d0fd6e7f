import { useMemo, useRef, useState } from 'preact/hooks';
import { piecesOf, textWith } from '../model/token-text.ts';
import type { Message } from '../model/types.ts';
import { Alternatives } from './alternatives.tsx';

/** Pixels of a list of alternatives. */
const LIST_WIDTH = 250;
const LIST_HEIGHT = 290;

interface TokenViewProps {
  readonly message: Message;
  /** Told what the answer is to begin with; left out while that is not possible. */
  readonly onGoOn: ((given: string) => void) | undefined;
}

interface Active {
  /** Index of the piece. */
  readonly index: number;
  /** Where its alternatives are, in pixels of the view. */
  readonly left: number;
  readonly top: number;
  readonly isAbove: boolean;
}

/** The answer's tokens, the less likely the more colored. Left and Right go through them. */
export function TokenView({ message, onGoOn }: TokenViewProps) {
  const { content, givenLength = 0, tokens = [] } = message;
  const pieces = useMemo(() => piecesOf(tokens), [tokens]);
  const [active, setActive] = useState<Active | null>(null);
  const view = useRef<HTMLDivElement>(null);
  const piece = active === null ? undefined : pieces[active.index];
  const token = piece && tokens[piece.from];
  const given = content.slice(0, givenLength);
  const activate = (index: number) => {
    const element = view.current?.querySelector(`[data-piece="${index}"]`);
    if (view.current && element) setActive({ index, ...placeFor(element, view.current) });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && active !== null) {
      event.preventDefault();
      setActive(null);
    }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    activate(Math.max(0, Math.min(pieces.length - 1, (active?.index ?? -step) + step)));
  };
  return (
    <div class="token-view" ref={view} onMouseLeave={() => setActive(null)} onKeyDown={onKeyDown}>
      <div
        class="token-text"
        tabIndex={0}
        role="group"
        aria-label="Tokens: Left and Right show alternatives"
      >
        {given !== '' && <span class="given">{given}</span>}
        {pieces.map(({ text, from }, index) => (
          <span
            key={from}
            data-piece={index}
            class={`token ${levelOf(tokens[from]?.logprob ?? 0)}${index === active?.index ? ' active' : ''}`}
            onMouseEnter={() => activate(index)}
            onClick={() => activate(index)}
          >
            {text.replaceAll('\n', '↵\n')}
          </span>
        ))}
      </div>
      {active !== null && piece !== undefined && token !== undefined && (
        <Alternatives
          token={token}
          place={active}
          onPick={onGoOn && ((choice) => onGoOn(given + textWith(tokens, piece.from, choice)))}
        />
      )}
    </div>
  );
}

/** Right below the token, so that the pointer meets no other on its way there; or above it. */
function placeFor(element: Element, view: Element): Omit<Active, 'index'> {
  const line = [...element.getClientRects()].at(-1) ?? element.getBoundingClientRect();
  const frame = view.getBoundingClientRect();
  const isAbove = line.bottom + LIST_HEIGHT > innerHeight && line.top > LIST_HEIGHT;
  return {
    left: Math.max(0, Math.min(line.left - frame.left, frame.width - LIST_WIDTH)),
    top: (isAbove ? line.top : line.bottom) - frame.top,
    isAbove,
  };
}

/** @param logprob natural logarithm */
function levelOf(logprob: number): string {
  const share = Math.exp(logprob);
  if (share >= 0.9) return 'sure';
  if (share >= 0.5) return 'likely';
  return share >= 0.1 ? 'open' : 'rare';
}
