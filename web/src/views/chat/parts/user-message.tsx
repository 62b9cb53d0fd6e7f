import { useEffect, useRef, useState } from 'preact/hooks';
import { CopyButton } from '../../../components/copy-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import type { ChatSession } from '../model/chat-session.ts';
import type { Message } from '../model/types.ts';
import { focusComposer } from './focus.ts';
import { MessageEditor } from './message-editor.tsx';
import { VersionSwitch } from './version-switch.tsx';

interface UserMessageProps {
  readonly session: ChatSession;
  readonly message: Message;
}

export function UserMessage({ session, message }: UserMessageProps) {
  const [isEdited, setEdited] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const wasEdited = useRef(false);
  useEffect(() => {
    if (wasEdited.current && !isEdited) button.current?.focus();
    wasEdited.current = isEdited;
  }, [isEdited]);
  // After a reload it may be a question alone.
  const isUnanswered = session.rows.value.at(-1)?.id === message.id && !session.isRunning.value;
  if (isEdited) {
    return (
      <MessageEditor
        text={message.content}
        action="Ask again"
        onCancel={() => setEdited(false)}
        onSave={(text) => {
          setEdited(false);
          void session.edit(message, text);
          focusComposer();
        }}
      />
    );
  }
  return (
    <div class="user-message">
      {message.attachments?.map(({ name, text, image }) =>
        image === undefined ? (
          <details key={name} class="attachment">
            <summary>{name}</summary>
            <pre tabIndex={0}>{text}</pre>
          </details>
        ) : (
          <img key={name} class="attached-image" src={image} alt={name} title={name} />
        ),
      )}
      <div class="bubble">{message.content}</div>
      <div class="message-actions">
        <VersionSwitch session={session} message={message} />
        {isUnanswered && (
          <button class="quiet" onClick={() => void session.answer(message)}>
            <Icon name="play" />
            Answer it
          </button>
        )}
        <button
          ref={button}
          class="quiet"
          onClick={() => setEdited(true)}
          aria-label="Edit and ask again"
          title="Edit and ask again"
        >
          <Icon name="edit" />
        </button>
        <CopyButton text={message.content} label="Copy question" />
      </div>
    </div>
  );
}
