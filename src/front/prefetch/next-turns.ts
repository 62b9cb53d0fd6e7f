/** Computes ahead what the next turns of conversations will begin with. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AssistantMessage } from '../chat/assistant-message.ts';
import type { ChatMessage } from '../templates/chat-message.ts';
import type { ChatPrompts } from '../chat/chat-prompt.ts';
import type { ChatPrompt } from '../chat/chat-request.ts';
import { LIMITS } from '../../limits.ts';
import { chatPrefix } from './chat-prefix.ts';
import type { Prefetcher } from './prefetcher.ts';

export interface NextTurnsOptions {
  readonly model: ChatPrompts & { readonly model: { readonly maxModelLen: number } };
  readonly prefetcher: Pick<Prefetcher, 'prefetch'>;
  /** Whether the machine has nothing else to do. */
  readonly isIdle: () => boolean;
  /** How one went. */
  readonly onEnd?: (outcome: 'computed' | 'dropped') => void;
}

/** The request that is being answered must have left the engine. */
const SETTLE_MS = 5;

/**
 * When an answer is complete, all of the next prompt but its last message is known. It is templated and
 * computed then, as long as there is nothing else to do: of a few conversations, those that were answered
 * last. What is not begun by the time somebody needs the machine, or not done in time, is dropped.
 */
export class NextTurns {
  readonly #options: NextTurnsOptions;
  /** Each ends one; the oldest first. */
  readonly #pending = new Set<AbortController>();

  constructor(options: NextTurnsOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async expect(
    chat: ChatPrompt,
    answer: AssistantMessage,
    { client, cacheSalt }: { readonly client: string; readonly cacheSalt: string },
  ): Promise<void> {
    const { model, prefetcher, isIdle, onEnd } = this.#options;
    const ending = new AbortController();
    this.#pending.add(ending);
    const [oldest] = this.#pending;
    if (this.#pending.size > LIMITS.nextTurns) oldest?.abort();
    const timeout = AbortSignal.timeout(LIMITS.nextTurnMs);
    const signal = AbortSignal.any([ending.signal, timeout]);
    try {
      await sleep(SETTLE_MS, undefined, { signal });
      if (!isIdle()) {
        onEnd?.('dropped');
        return;
      }
      const messages = [...chat.messages, toMessage(answer)];
      const tokenIds = await chatPrefix(model, { ...chat, messages }, { client, signal });
      if (tokenIds.length > 1) {
        await prefetcher.prefetch({ tokenIds, cacheSalt, client }, signal);
      }
      onEnd?.('computed');
    } catch {
      // A template that refuses, a full queue, an engine that died: it was a guess.
      onEnd?.('dropped');
    } finally {
      this.#pending.delete(ending);
    }
  }

  /** Ends all. */
  close(): void {
    for (const ending of this.#pending) ending.abort();
  }
}

/** As clients send an answer back: without its thoughts. */
function toMessage({ content, toolCalls }: AssistantMessage): ChatMessage {
  if (toolCalls.length === 0) return { role: 'assistant', content };
  return {
    role: 'assistant',
    content,
    tool_calls: toolCalls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    })),
  };
}
