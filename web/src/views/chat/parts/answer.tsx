import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { CodeBlock } from '../../../components/code-block.tsx';
import { Markdown } from '../../../components/markdown.tsx';
import type { ChatSession } from '../model/chat-session.ts';
import type { Message } from '../model/types.ts';
import { AnswerFooter } from './answer-footer.tsx';
import { JsonStatus } from './json-status.tsx';
import { MessageEditor } from './message-editor.tsx';
import { Reasoning } from './reasoning.tsx';
import { TokenView } from './token-view.tsx';
import { ToolCalls } from './tool-calls.tsx';

/** Of all answers: whoever goes on from one token wants to see those that follow. */
const showsTokens = signal(false);

interface AnswerProps {
  readonly session: ChatSession;
  readonly message: Message;
}

export function Answer({ session, message }: AnswerProps) {
  const [isEdited, setEdited] = useState(false);
  const { content, error, schema, state, tokens = [], toolCalls = [] } = message;
  const isRunning = state === 'running';
  if (isEdited) {
    return (
      <MessageEditor
        text={content}
        action="Keep as another version"
        onCancel={() => setEdited(false)}
        onSave={(text) => {
          setEdited(false);
          void session.edit(message, text);
        }}
      />
    );
  }
  return (
    <div class="answer" aria-busy={isRunning}>
      <Reasoning message={message} />
      {showsTokens.value && tokens.length > 0 ? (
        <TokenView
          message={message}
          onGoOn={isRunning ? undefined : (given) => void session.goOn(message, given)}
        />
      ) : (
        <AnswerText message={message} />
      )}
      {schema !== undefined && content !== '' && (
        <JsonStatus content={content} schema={schema} isWhole={!isRunning} />
      )}
      {toolCalls.length > 0 && <ToolCalls session={session} message={message} />}
      {error !== undefined && state === 'failed' && (
        <p class="answer-error" role="alert">
          {error}
        </p>
      )}
      <AnswerFooter
        session={session}
        message={message}
        showsTokens={showsTokens.value}
        onToggleTokens={() => (showsTokens.value = !showsTokens.value)}
        onEdit={() => setEdited(true)}
      />
    </div>
  );
}

function AnswerText({ message: { content, reasoning, schema, state } }: { message: Message }) {
  if (content === '' && state === 'running' && reasoning === undefined) {
    return (
      <p class="waiting" role="status">
        <span class="hidden-text">Waiting for the first token</span>
      </p>
    );
  }
  if (schema !== undefined) return <CodeBlock code={content} language="json" />;
  return <Markdown text={content} />;
}
