import { models } from '../../../api/models.ts';
import { CopyButton } from '../../../components/copy-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import { formatMs, formatNumber } from '../../../format.ts';
import type { ChatSession } from '../model/chat-session.ts';
import type { Message } from '../model/types.ts';
import { VersionSwitch } from './version-switch.tsx';

interface AnswerFooterProps {
  readonly session: ChatSession;
  readonly message: Message;
  readonly showsTokens: boolean;
  readonly onToggleTokens: () => void;
  readonly onEdit: () => void;
  readonly onAgain: () => void;
}

/** One line: what can be done with an answer, and what it cost. */
export function AnswerFooter(props: AnswerFooterProps) {
  const { session, message, showsTokens, onToggleTokens, onEdit, onAgain } = props;
  const { content, finishReason, state, tokens, toolCalls } = message;
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
            <Action icon="retry" label="Regenerate" onClick={onAgain} />
            <Action icon="edit" label="Edit answer" onClick={onEdit} />
            {isCut && content !== '' && toolCalls === undefined && (
              <button class="quiet" onClick={() => void session.goOn(message, content)}>
                <Icon name="play" />
                Continue
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
      <Facts message={message} />
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
    <button class="quiet" data-action={icon} aria-label={label} title={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

interface Fact {
  readonly text: string;
  /** Meaning of the text. */
  readonly title: string;
}

function Facts({ message }: { readonly message: Message }) {
  const limit = models.value?.find(({ id }) => id === message.model)?.max_model_len ?? null;
  return (
    <p class="answer-facts numbers">
      {message.model !== undefined && <span>{message.model}</span>}
      {factsOf(message, limit).map(({ text, title }) => (
        <span key={title} title={title}>
          {text}
        </span>
      ))}
      {endOf(message) !== '' && <span>{endOf(message)}</span>}
    </p>
  );
}

/** @param limit tokens of the model's context; null where it is not known */
function factsOf({ stats, resumedAfterMs }: Message, limit: number | null): Fact[] {
  const facts: Fact[] = [];
  if (stats !== undefined) {
    const { cachedTokens, firstTokenMs, numAnswers, outputTokens, promptTokens, totalMs } = stats;
    const { imageTokens = 0 } = stats;
    if (firstTokenMs !== null) {
      facts.push({
        text: `${formatMs(firstTokenMs)} to first token`,
        title: 'Time to first token',
      });
    }
    if (outputTokens !== null) {
      const together = numAnswers > 1 ? ` in ${numAnswers} answers` : '';
      facts.push({ text: `${outputTokens} tokens${together}`, title: 'Tokens written' });
      const decodeMs = totalMs - (firstTokenMs ?? 0);
      // The first tokens are what came before.
      const rate = ((outputTokens - numAnswers) / decodeMs) * 1000;
      if (outputTokens > numAnswers && decodeMs > 0) {
        facts.push({ text: `${rate.toFixed(0)} tokens/s`, title: 'After the first token' });
      }
    }
    if (promptTokens !== null) {
      const used = promptTokens + (outputTokens ?? 0) / numAnswers;
      const of = limit === null ? '' : ` of ${formatNumber(limit)}`;
      const seen = imageTokens > 0 ? `, ${formatNumber(imageTokens)} of images` : '';
      const cached = cachedTokens ? `, ${cachedTokens} of them from the cache` : '';
      facts.push({
        text: `${formatNumber(Math.round(used))}${of} context${seen}`,
        title: `Tokens of the prompt (${promptTokens}${seen}${cached}) and of the answer, of those that fit`,
      });
    }
  }
  if (resumedAfterMs !== undefined) {
    const title = 'The server was away, and the answer went on when it was back';
    facts.push({ text: `continued after ${formatMs(resumedAfterMs)}`, title });
  }
  return facts;
}

function endOf({ state, finishReason, isCutOff }: Message): string {
  if (isCutOff) return 'cut off when the page was left';
  if (state === 'stopped') return 'stopped';
  if (state === 'failed') return 'not sent along';
  return finishReason === 'length' ? 'token limit reached' : '';
}
