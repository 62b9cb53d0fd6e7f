/** Answers that another tab writes. */
import type { Message } from './types.ts';

/** Without news for so long, the other tab is gone, or its answer is. */
const SILENCE_MS = 10_000;

export class RemoteAnswers {
  readonly #update: (message: Message) => void;
  /** By message. */
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(update: (message: Message) => void) {
    this.#update = update;
  }

  take(message: Message): void {
    clearTimeout(this.#timers.get(message.id));
    this.#timers.delete(message.id);
    this.#update(message);
    if (message.state !== 'running') return;
    const end = () => this.#update({ ...message, state: 'stopped', isCutOff: true });
    this.#timers.set(message.id, setTimeout(end, SILENCE_MS));
  }
}
