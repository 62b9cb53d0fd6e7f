import { useRef, useState } from 'preact/hooks';
import { Icon } from '../../../components/icon.tsx';
import { VirtualList } from '../../../components/virtual-list.tsx';
import { ROOT } from '../../../root.ts';
import { chatLines } from '../model/chat-groups.ts';
import type { ChatSession } from '../model/chat-session.ts';
import { chatAddress, chats, removeChat, renameChat, startChat } from '../model/chats.ts';
import type { Chat } from '../model/types.ts';
import { focusComposer } from './focus.ts';
import { TitleField } from './title-field.tsx';

const ITEM_PIXELS = 36;

interface ChatListProps {
  readonly session: ChatSession;
  readonly onClose: () => void;
  readonly onSearch: () => void;
}

export function ChatList({ session, onClose, onSearch }: ChatListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const listed = chats.value;
  const lines = new Map(chatLines(listed ?? [], Date.now()).map((line) => [line.id, line]));
  const currentId = session.chat.value.id;
  return (
    <aside class="chat-list" aria-label="Chats">
      <div class="chat-list-tools">
        <button
          onClick={() => {
            startChat();
            onClose();
            focusComposer();
          }}
          title="New chat (Alt N)"
        >
          <Icon name="plus" />
          New chat
        </button>
        <button class="quiet" onClick={onSearch} aria-label="Search" title="Search (Ctrl K)">
          <Icon name="search" />
        </button>
        <button class="quiet only-narrow" onClick={onClose} aria-label="Close the list of chats">
          <Icon name="close" />
        </button>
      </div>
      <div class="chat-list-items" ref={scroller}>
        {listed?.length === 0 && <p class="soft small">Chats are kept in this browser.</p>}
        <VirtualList
          scroller={scroller}
          ids={[...lines.keys()]}
          estimate={ITEM_PIXELS}
          render={(id) => {
            const line = lines.get(id);
            if (line === undefined) return null;
            if (line.kind === 'heading') return <p class="chat-list-period">{line.text}</p>;
            return <Item chat={line.chat} isCurrent={id === currentId} onPicked={onClose} />;
          }}
        />
      </div>
    </aside>
  );
}

interface ItemProps {
  readonly chat: Chat;
  readonly isCurrent: boolean;
  readonly onPicked: () => void;
}

function Item({ chat, isCurrent, onPicked }: ItemProps) {
  const [isRenamed, setRenamed] = useState(false);
  const { id, title, changedAt } = chat;
  if (isRenamed) {
    return (
      <TitleField
        title={title}
        onDone={(text) => {
          setRenamed(false);
          void renameChat(chat, text);
        }}
      />
    );
  }
  return (
    <div class="chat-list-item" onDblClick={() => setRenamed(true)}>
      <a
        href={ROOT + chatAddress(id)}
        aria-current={isCurrent ? 'page' : undefined}
        title={`${title}\n${new Date(changedAt).toLocaleString()}`}
        onClick={onPicked}
        onKeyDown={(event) => {
          if (event.key === 'F2') setRenamed(true);
          else if (event.key === 'Delete') void removeChat(chat);
        }}
      >
        {title}
      </a>
      <button class="quiet" aria-label={`Rename ${title}`} onClick={() => setRenamed(true)}>
        <Icon name="edit" />
      </button>
      <button class="quiet" aria-label={`Delete ${title}`} onClick={() => void removeChat(chat)}>
        <Icon name="trash" />
      </button>
    </div>
  );
}
