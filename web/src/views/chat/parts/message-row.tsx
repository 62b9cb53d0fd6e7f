import type { ChatSession } from '../model/chat-session.ts';
import type { Message } from '../model/types.ts';
import { Answer } from './answer.tsx';
import { ToolResult } from './tool-result.tsx';
import { UserMessage } from './user-message.tsx';

interface MessageRowProps {
  readonly session: ChatSession;
  /** Several are side by side. */
  readonly ids: readonly string[];
}

export function MessageRow({ session, ids }: MessageRowProps) {
  if (ids.length === 1) {
    return (
      <article class="row">
        <OneMessage session={session} message={session.message(ids[0] ?? '').value} />
      </article>
    );
  }
  return (
    <article class="row beside" aria-label={`${ids.length} answers`}>
      {ids.map((id) => (
        <BesideMessage key={id} session={session} id={id} />
      ))}
    </article>
  );
}

function OneMessage(props: { readonly session: ChatSession; readonly message: Message }) {
  switch (props.message.role) {
    case 'user':
      return <UserMessage {...props} />;
    case 'tool':
      return <ToolResult {...props} />;
    case 'assistant':
      return <Answer {...props} />;
  }
}

/** The conversation goes on with the chosen one. */
function BesideMessage({ session, id }: { readonly session: ChatSession; readonly id: string }) {
  const message = session.message(id).value;
  const isChosen = session.chat.value.chosen[message.parentId ?? 'root'] === id;
  return (
    <section class={isChosen ? 'beside-answer chosen' : 'beside-answer'}>
      <label class="beside-choice">
        <input
          type="radio"
          name={message.group ?? ''}
          checked={isChosen}
          onChange={() => session.choose(message)}
        />
        {isChosen ? 'The chat goes on with this one' : 'Go on with this one'}
      </label>
      <Answer session={session} message={message} />
    </section>
  );
}
