import { CopyButton } from '../../../components/copy-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import type { ChatSession } from '../model/chat-session.ts';
import type { AnswerStats, Message } from '../model/types.ts';
import { VersionSwitch } from './version-switch.tsx';

interface AnswerFooterProps {
  readonly session: ChatSession;
  readonly message: Message;
  readonly showsTokens: boolean;
  readonly onToggleTokens: () => void;
  readonly onEdit: () => void;
}

/** What an answer cost, and what can be done with it. */
export function AnswerFooter(props: AnswerFooterProps) {
  const { session, message, showsTokens, onToggleTokens, onEdit } = props;
  const { content, finishReason, model, resumedAfterMs, state, stats, tokens, toolCalls } = message;
  const isRunning = state === 'running';
  // Where it ended by itself, there is nothing to go on with.
  const isCut = state === 'stopped' || state === 'failed' || finishReason === 'length';
  return (
    <footer class="answer-footer">
      <div class="message-actions">
        <VersionSwitch session={session} message={message} />
        {!isRunning && (
          <>
            <CopyButton text={content} label="Copy answer" />
            <Action
              icon="retry"
              label="Another answer"
              onClick={() => void session.regenerate(message)}
            />
            <Action icon="edit" label="Edit answer" onClick={onEdit} />
            {isCut && content !== '' && toolCalls === undefined && (
              <button class="quiet" onClick={() => void session.goOn(message, content)}>
                <Icon name="play" />
                Go on
              </button>
            )}
          </>
        )}
        {tokens !== undefined && (
          <button class="quiet" aria-pressed={showsTokens} onClick={onToggleTokens}>
            <Icon name="text" />
            Tokens
          </button>
        )}
      </div>
      <p class="answer-facts numbers">
        {model !== undefined && <span>{model}</span>}
        {stats !== undefined && factsOf(stats).map((fact) => <span key={fact}>{fact}</span>)}
        {endOf(message) !== '' && <span>{endOf(message)}</span>}
        {resumedAfterMs !== undefined && (
          <span>went on after {(resumedAfterMs / 1000).toFixed(1)} s without a server</span>
        )}
      </p>
    </footer>
  );
}

interface ActionProps {
  readonly icon: 'retry' | 'edit';
  readonly label: string;
  readonly onClick: () => void;
}

function Action({ icon, label, onClick }: ActionProps) {
  return (
    <button class="quiet" aria-label={label} title={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

function factsOf(stats: AnswerStats): string[] {
  const { cachedTokens, firstTokenMs, numAnswers, outputTokens, promptTokens, totalMs } = stats;
  const facts: string[] = [];
  if (firstTokenMs !== null) facts.push(`first token ${inWords(firstTokenMs)}`);
  if (outputTokens !== null) {
    const together = numAnswers > 1 ? ` in ${numAnswers} answers` : '';
    facts.push(`${outputTokens} tokens${together}`);
    const decodeMs = totalMs - (firstTokenMs ?? 0);
    // The first tokens are what came before.
    const rate = ((outputTokens - numAnswers) / decodeMs) * 1000;
    if (outputTokens > numAnswers && decodeMs > 0) facts.push(`${rate.toFixed(0)} tokens/s`);
  }
  if (promptTokens !== null) {
    const cached = cachedTokens ? `, ${cachedTokens} cached` : '';
    facts.push(`prompt ${promptTokens}${cached}`);
  }
  return facts;
}

function inWords(ms: number): string {
  return ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function endOf({ state, finishReason }: Message): string {
  if (state === 'stopped') return 'stopped';
  return finishReason === 'length' ? 'as long as allowed' : '';
}
