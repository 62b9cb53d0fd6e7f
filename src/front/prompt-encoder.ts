import type { Admission } from './admission.ts';
import type { Caller } from './caller.ts';
import type { ChatMessage } from './chat-message.ts';
import type { ChatRenderOptions } from './chat-template.ts';
import { type EncodedPrompt, isLongerThan, type PromptJob, runPromptJob } from './prompt-job.ts';
import type { PromptThreads } from './prompt-threads.ts';
import type { TextModel } from './text-model.ts';

/**
 * What is made at once, on the main thread: it takes 2 to 3 ms there (0.7 us a character, 25 us a
 * message), about what a thread takes to get its turn beside a busy engine. A prompt of 6,000 tokens
 * takes 17 ms, and would hold up every stream for as long.
 */
const MAX_CHARACTERS_AT_ONCE = 4096;

export interface PromptEncoderOptions {
  readonly model: Pick<TextModel, 'tokenizer' | 'chatTemplate'>;
  readonly admission: Pick<Admission, 'prepare'>;
  /** Null makes all prompts on the main thread. */
  readonly threads: Pick<PromptThreads, 'run'> | null;
}

/** Makes prompts: short ones at once, long ones in threads, where they count as waiting requests. */
export class PromptEncoder {
  readonly #options: PromptEncoderOptions;

  constructor(options: PromptEncoderOptions) {
    this.#options = options;
  }

  /** Whether the model has a chat template. */
  get canChat(): boolean {
    return this.#options.model.chatTemplate !== null;
  }

  /**
   * The token ids of each text.
   * @param addSpecialTokens see TextTokenizer.encode
   * @throws QueueFullError, ShuttingDownError for long texts; the signal's reason on abort.
   */
  async encodeTexts(
    texts: readonly string[],
    addSpecialTokens: boolean,
    caller: Caller,
  ): Promise<Int32Array[]> {
    const prompts = await this.#run({ type: 'texts', texts, addSpecialTokens }, caller);
    return prompts.map(({ tokenIds }) => tokenIds);
  }

  /**
   * The prompt of a chat.
   * @throws ChatTemplateError when the template refuses it; its message is for the client. Else as
   *   `encodeTexts`.
   */
  async encodeChat(
    messages: readonly ChatMessage[],
    options: ChatRenderOptions,
    caller: Caller,
  ): Promise<EncodedPrompt> {
    const [prompt] = await this.#run({ type: 'chat', messages, options }, caller);
    if (prompt === undefined) throw new Error('a chat came to no prompt');
    return prompt;
  }

  async #run(job: PromptJob, { client, signal }: Caller): Promise<readonly EncodedPrompt[]> {
    const { model, admission, threads } = this.#options;
    if (threads === null || !isLongerThan(MAX_CHARACTERS_AT_ONCE, job)) {
      return runPromptJob(model, job);
    }
    const prepared = admission.prepare(client);
    try {
      return await threads.run(job, signal);
    } finally {
      prepared();
    }
  }
}
