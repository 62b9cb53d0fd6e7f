/** The answers of a chat that are being written by this tab. */
import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { refreshModels } from '../../../api/models.ts';
import type { RequestBody } from '../request/request-body.ts';
import { runAnswer } from '../request/run-answer.ts';
import { writeLastMessages, writeMessages } from './chat-store.ts';
import type { Message } from './types.ts';

/** How often an answer that is being written is stored. */
const STORE_MS = 1000;

interface Run {
  readonly controller: AbortController;
  written: readonly Message[];
}

export interface NewRun {
  readonly body: RequestBody;
  readonly answers: readonly Message[];
  /** Beginning of each answer. */
  readonly given: string;
}

export class LiveAnswers {
  readonly isRunning: ReadonlySignal<boolean>;
  readonly #runs = signal<readonly Run[]>([]);
  readonly #update: (message: Message) => Message;

  /** @param update takes over what an answer has become, and returns it as it is kept */
  constructor(update: (message: Message) => Message) {
    this.#update = update;
    this.isRunning = computed(() => this.#runs.value.length > 0);
  }

  has(id: string): boolean {
    return this.#written().some((message) => message.id === id);
  }

  stop(): void {
    for (const { controller } of this.#runs.peek()) controller.abort();
  }

  /** Never rejects. */
  async run({ body, answers, given }: NewRun): Promise<void> {
    const run: Run = { controller: new AbortController(), written: answers };
    this.#runs.value = [...this.#runs.peek(), run];
    // Whatever happens to the page from now on, there is an answer to go on with.
    let storedAt = Date.now();
    void writeMessages(answers);
    await runAnswer({
      body,
      numAnswers: answers.length,
      given,
      signal: run.controller.signal,
      onChange: (fields) => {
        run.written = run.written.map((answer, index) =>
          this.#update({ ...answer, ...fields[index] }),
        );
        if (Date.now() - storedAt < STORE_MS) return;
        storedAt = Date.now();
        void writeMessages(run.written);
      },
    });
    this.#runs.value = this.#runs.peek().filter((each) => each !== run);
    refreshModels();
    await writeMessages(run.written);
  }

  /** For a tab that has just opened the chat. */
  tell(): void {
    void writeMessages(this.#written());
  }

  /** The page is left: answers end where they are. */
  leave(): void {
    writeLastMessages(
      this.#written().map((message) => ({ ...message, state: 'stopped', isCutOff: true })),
    );
  }

  #written(): Message[] {
    return this.#runs.peek().flatMap(({ written }) => written);
  }
}
