import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../../../components/icon.tsx';
import { VirtualList } from '../../../components/virtual-list.tsx';
import type { ChatSession } from '../model/chat-session.ts';
import { EmptyChat } from './empty-chat.tsx';
import { MessageRow } from './message-row.tsx';

const ROW_PIXELS = 120;
/** Nearer to the end than this, the list stays at its end while it grows. */
const END_PIXELS = 60;
/** Further from the end than this, there is a button that goes there. */
const AWAY_PIXELS = 160;

export function MessageList({ session }: { readonly session: ChatSession }) {
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [isAway, setAway] = useState(false);
  const rows = new Map(session.rows.value.map((row) => [row.id, row]));
  const isEmpty = rows.size === 0;
  const sought = session.sought.value;
  useLayoutEffect(() => {
    // Whoever looks for a message does not want to see the end.
    if (sought !== null) isAtEnd.current = false;
  }, [sought]);
  const look = (list: HTMLElement) => {
    const left = list.scrollHeight - list.scrollTop - list.clientHeight;
    setAway(left > AWAY_PIXELS);
    return left;
  };
  useEffect(() => {
    const list = scroller.current;
    // Text in place of messages is read from its beginning.
    if (list === null || isEmpty) return;
    const follow = () => {
      if (isAtEnd.current) list.scrollTop = list.scrollHeight;
      look(list);
    };
    follow();
    const observer = new ResizeObserver(follow);
    observer.observe(list);
    if (list.firstElementChild) observer.observe(list.firstElementChild);
    return () => observer.disconnect();
  }, [isEmpty]);
  const toEnd = () => {
    isAtEnd.current = true;
    session.sought.value = null;
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  };
  // A question that was just asked is where to look.
  const numRows = rows.size;
  useEffect(() => {
    if (session.isRunning.peek()) toEnd();
  }, [numRows]);
  return (
    <div class="messages-frame">
      <div
        class="messages"
        ref={scroller}
        onScroll={({ currentTarget }) => (isAtEnd.current = look(currentTarget) < END_PIXELS)}
        onWheel={({ deltaY }) => {
          // Whoever scrolls back wants to read.
          if (deltaY < 0) isAtEnd.current = false;
        }}
        tabIndex={0}
        role="log"
        aria-label="Messages"
        aria-live="off"
      >
        {isEmpty ? (
          <EmptyChat session={session} />
        ) : (
          <VirtualList
            scroller={scroller}
            ids={[...rows.keys()]}
            estimate={ROW_PIXELS}
            sought={sought}
            render={(id) => {
              const row = rows.get(id);
              return row === undefined ? null : <MessageRow session={session} ids={row.ids} />;
            }}
          />
        )}
      </div>
      {isAway && (
        <button class="to-end" onClick={toEnd} aria-label="To the end" title="To the end">
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}
