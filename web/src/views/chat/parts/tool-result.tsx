import type { ChatSession } from '../model/chat-session.ts';
import type { Message } from '../model/types.ts';

interface ToolResultProps {
  readonly session: ChatSession;
  readonly message: Message;
}

export function ToolResult({ session, message }: ToolResultProps) {
  const { content, id, toolCallId } = message;
  const calls = session.pathTo(id).flatMap(({ toolCalls }) => toolCalls ?? []);
  const name = calls.findLast((call) => call.id === toolCallId)?.name;
  return (
    <details class="tool-result" open>
      <summary>
        Result
        {name !== undefined && (
          <>
            {' '}
            of <code>{name}</code>
          </>
        )}
      </summary>
      <pre tabIndex={0}>{content}</pre>
    </details>
  );
}
