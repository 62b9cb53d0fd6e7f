import { useEffect, useRef } from 'preact/hooks';
import type { MarkedText, MarkedToken } from './marked-text.ts';
import { levelOf } from './probability.ts';

interface EditorProps {
  readonly marked: MarkedText;
  readonly isRunning: boolean;
  readonly onEdit: (text: string) => void;
  /** Where the cursor is now. */
  readonly onCursor: (position: number) => void;
  readonly chosen: MarkedToken | null;
}

/**
 * A field to write in, over a copy of its text that has the colors: both are the same size, since the
 * copy makes the size.
 */
export function Editor({ marked, isRunning, onEdit, onCursor, chosen }: EditorProps) {
  const frame = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const { current } = frame;
    if (current && isRunning && isAtEnd.current) current.scrollTop = current.scrollHeight;
  }, [marked, isRunning]);
  return (
    <div
      ref={frame}
      class="pad-editor"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) =>
        (isAtEnd.current = scrollTop + clientHeight > scrollHeight - 40)
      }
    >
      <div class="pad-sheet">
        <div class="pad-colors" aria-hidden="true">
          {spansOf(marked).map(({ start, text, token }) =>
            token === null ? (
              text
            ) : (
              <span key={start} class={classOf(token, chosen)}>
                {text}
              </span>
            ),
          )}
          {/* A line break at the end has a line after it. */}
          {'​'}
        </div>
        <textarea
          class="pad-text"
          aria-label="Text"
          placeholder="Write the beginning of a text and press Generate: the model continues it. Nothing is added, no chat template either."
          spellcheck={false}
          value={marked.text}
          readOnly={isRunning}
          onInput={(event) => {
            onEdit(event.currentTarget.value);
            onCursor(event.currentTarget.selectionEnd);
          }}
          onSelect={(event) => onCursor(event.currentTarget.selectionEnd)}
          onClick={(event) => onCursor(event.currentTarget.selectionEnd)}
          onKeyUp={(event) => onCursor(event.currentTarget.selectionEnd)}
        />
      </div>
    </div>
  );
}

function classOf(token: MarkedToken, chosen: MarkedToken | null): string {
  const level = token.logprob === null ? 'token' : `token level-${levelOf(token.logprob)}`;
  return token.start === chosen?.start ? `${level} chosen` : level;
}

interface Span {
  readonly start: number;
  readonly text: string;
  /** Null for text of which nothing is known. */
  readonly token: MarkedToken | null;
}

function spansOf({ text, tokens }: MarkedText): Span[] {
  const spans: Span[] = [];
  let at = 0;
  for (const token of tokens) {
    if (token.start > at) spans.push({ start: at, text: text.slice(at, token.start), token: null });
    spans.push({ start: token.start, text: text.slice(token.start, token.end), token });
    at = token.end;
  }
  if (at < text.length) spans.push({ start: at, text: text.slice(at), token: null });
  return spans;
}
