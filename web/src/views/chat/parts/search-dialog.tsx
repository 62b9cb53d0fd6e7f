import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Dialog } from '../../../components/dialog.tsx';
import { chats, openChatAt } from '../model/chats.ts';
import { searchChats, type SearchHit } from '../model/search.ts';

const PAUSE_MS = 120;

/** Finds a chat by its title or by what was said in it: arrow keys go through what was found, Enter opens it. */
export function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const listId = useId();
  const hits = useHits(text);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => setAt(0), [hits]);
  const pick = (hit: SearchHit | undefined) => {
    if (hit === undefined) return;
    onClose();
    openChatAt(hit.chat.id, hit.messageId);
  };
  const count = hits?.length ?? 0;
  return (
    <Dialog title="Search chats" onClose={onClose} isWide>
      <input
        ref={field}
        role="combobox"
        aria-label="Search"
        aria-expanded={count > 0}
        aria-controls={listId}
        aria-activedescendant={count > 0 ? `${listId}-${at}` : undefined}
        placeholder="Words of a title or a message"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step !== undefined && count > 0) setAt((at + step + count) % count);
          else if (event.key === 'Enter') pick(hits?.[at]);
          else return;
          event.preventDefault();
        }}
      />
      <ul class="search-hits" id={listId} role="listbox" aria-label="Found">
        {hits?.map((hit, index) => (
          <li
            key={`${hit.chat.id} ${hit.messageId}`}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === at}
            ref={(element) => {
              if (index === at) element?.scrollIntoView({ block: 'nearest' });
            }}
            onMouseMove={() => setAt(index)}
            onClick={() => pick(hit)}
          >
            <Hit hit={hit} />
          </li>
        ))}
      </ul>
      <p class="soft small" role="status">
        {hits !== null && count === 0 ? 'Nothing was found.' : ''}
      </p>
    </Dialog>
  );
}

function Hit({ hit: { chat, messageId, snippet } }: { readonly hit: SearchHit }) {
  const [before, found, after] = snippet;
  const marked = (
    <>
      {before}
      <mark>{found}</mark>
      {after}
    </>
  );
  return (
    <>
      <span class="search-title">{messageId === null ? marked : chat.title}</span>
      <span class="soft small">{new Date(chat.changedAt).toLocaleDateString()}</span>
      {messageId !== null && <span class="search-snippet soft">{marked}</span>}
    </>
  );
}

/** Null until something was looked for. */
function useHits(text: string): readonly SearchHit[] | null {
  const [hits, setHits] = useState<readonly SearchHit[] | null>(null);
  useEffect(() => {
    if (text.trim() === '') {
      setHits(null);
      return;
    }
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      void searchChats(text, chats.peek() ?? [], leaving.signal).then((found) => {
        if (!leaving.signal.aborted) setHits(found);
      });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [text]);
  return hits;
}
