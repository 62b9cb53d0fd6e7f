import { useRef } from 'preact/hooks';
import { Icon } from '../../../components/icon.tsx';
import { VirtualList } from '../../../components/virtual-list.tsx';
import type { ChatSession } from '../model/chat-session.ts';
import { chats, openChat, startChat } from '../model/chats.ts';

const ITEM_PIXELS = 36;

interface ChatListProps {
  readonly session: ChatSession;
  readonly onPicked: () => void;
}

export function ChatList({ session, onPicked }: ChatListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const byId = new Map(chats.value.map((chat) => [chat.id, chat]));
  const currentId = session.chat.value.id;
  return (
    <aside class="chat-list" aria-label="Chats">
      <button
        onClick={() => {
          startChat();
          onPicked();
        }}
        title="Alt N"
      >
        <Icon name="plus" />
        New chat
      </button>
      <div class="chat-list-items" ref={scroller}>
        {byId.size === 0 && <p class="soft small">Chats are kept in this browser.</p>}
        <VirtualList
          scroller={scroller}
          ids={[...byId.keys()]}
          estimate={ITEM_PIXELS}
          render={(id) => {
            const chat = byId.get(id);
            if (chat === undefined) return null;
            return (
              <button
                class="quiet chat-list-item"
                aria-current={id === currentId ? 'true' : undefined}
                title={chat.title}
                onClick={() => {
                  void openChat(chat);
                  onPicked();
                }}
              >
                {chat.title}
              </button>
            );
          }}
        />
      </div>
    </aside>
  );
}
