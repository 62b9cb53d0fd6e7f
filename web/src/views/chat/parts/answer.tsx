import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { CodeBlock } from '../../../components/code-block.tsx';
import { Icon } from '../../../components/icon.tsx';
import { lazy } from '../../../components/lazy.tsx';
import { Markdown } from '../../../components/markdown/markdown.tsx';
import type { ChatSession } from '../model/chat-session.ts';
import type { Message } from '../model/types.ts';
import { AnswerFooter } from './answer-footer.tsx';
import { focusComposer } from './focus.ts';
import { MessageEditor } from './message-editor.tsx';
import { Reasoning } from './reasoning.tsx';
import { Waiting } from './waiting.tsx';

const JsonStatus = lazy(async () => (await import('./json-status.tsx')).JsonStatus);
const TokenView = lazy(async () => (await import('./token-view.tsx')).TokenView);
const ToolCalls = lazy(async () => (await import('./tool-calls.tsx')).ToolCalls);

/** For all answers: whoever goes on from one token wants to see those that follow. */
const showsTokens = signal(false);

interface AnswerProps {
  readonly session: ChatSession;
  readonly message: Message;
}

export function Answer({ session, message }: AnswerProps) {
  const [isEdited, setEdited] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const wasEdited = useRef(false);
  useEffect(() => {
    if (wasEdited.current && !isEdited) {
      root.current?.querySelector<HTMLElement>('[data-action="edit"]')?.focus();
    }
    wasEdited.current = isEdited;
  }, [isEdited]);
  const { content, error, isCutOff, schema, state, tokens = [], toolCalls = [] } = message;
  const isRunning = state === 'running';
  const isFailed = state === 'failed';
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
  const again = () => {
    void session.regenerate(message);
    focusComposer();
  };
  return (
    <div class="answer" aria-busy={isRunning} ref={root}>
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
      {(isFailed || (content === '' && isCutOff)) && (
        <div class={isFailed ? 'answer-error' : 'answer-error mild'} role="alert">
          <p>{isFailed ? error : 'The page was left before the answer began.'}</p>
          <button type="button" onClick={again}>
            <Icon name="retry" />
            Try again
          </button>
        </div>
      )}
      <AnswerFooter
        session={session}
        message={message}
        showsTokens={showsTokens.value}
        onToggleTokens={() => (showsTokens.value = !showsTokens.value)}
        onEdit={() => setEdited(true)}
        onAgain={again}
      />
    </div>
  );
}

function AnswerText({ message }: { readonly message: Message }) {
  const { content, reasoning, schema, state } = message;
  if (content === '' && state === 'running' && reasoning === undefined) {
    return <Waiting since={message.createdAt} />;
  }
  if (schema !== undefined) return <CodeBlock code={content} language="json" />;
  return <Markdown text={content} />;
}
