import { useState } from 'preact/hooks';
import { CodeBlock } from '../../../components/code-block.tsx';
import type { ChatSession } from '../model/chat-session.ts';
import type { Message } from '../model/types.ts';

interface ToolCallsProps {
  readonly session: ChatSession;
  readonly message: Message;
}

/** Functions that the model wants to call. The page calls none: the user types what each returns. */
export function ToolCalls({ session, message }: ToolCallsProps) {
  const calls = message.toolCalls ?? [];
  const [results, setResults] = useState<readonly string[]>([]);
  const isAnswered = session.path().some(({ parentId }) => parentId === message.id);
  const isOpen = message.state !== 'running' && !isAnswered;
  return (
    <form
      class="tool-calls"
      onSubmit={(event) => {
        event.preventDefault();
        void session.answerCalls(message, results);
      }}
    >
      {calls.map(({ id, name, arguments: text }, index) => (
        <div key={id} class="card">
          <p class="tool-name">
            Calls <code>{name}</code>
          </p>
          <CodeBlock code={pretty(text)} language="json" />
          {isOpen && (
            <label class="field">
              Result
              <textarea
                class="code"
                rows={2}
                value={results[index] ?? ''}
                onInput={({ currentTarget: { value } }) =>
                  setResults(calls.map((_, at) => (at === index ? value : (results[at] ?? ''))))
                }
              />
            </label>
          )}
        </div>
      ))}
      {isOpen && (
        <div class="actions">
          <button class="primary">Send {calls.length === 1 ? 'the result' : 'the results'}</button>
        </div>
      )}
    </form>
  );
}

/** As it is while it is not whole. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
