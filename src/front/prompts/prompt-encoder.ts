import type { InfillEncoder, InfillText } from '../text/infill.ts';
import { LIMITS } from '../../limits.ts';
import type { PromptImage } from '../generation/prompt-image.ts';
import type { Admission } from '../queue/admission.ts';
import type { Caller } from '../caller.ts';
import type { ChatMessage } from '../templates/chat-message.ts';
import type { ChatRenderOptions } from '../templates/chat-template.ts';
import {
  type EncodedPrompt,
  isLongerThan,
  type PromptJob,
  type PromptModel,
  requireShort,
  runPromptJob,
} from './prompt-job.ts';
import { type ImageCutter, type ImageFile, placeImages } from './place-images.ts';
import type { PromptPool } from './prompt-pool.ts';

export interface PromptEncoderOptions {
  readonly model: PromptModel;
  readonly admission: Pick<Admission, 'prepare'>;
  readonly pool: Pick<PromptPool, 'run'>;
  /** Cuts images, for a model that sees; null or left out for others. */
  readonly images?: ImageCutter | null;
}

export interface TextOptions {
  /** See TextTokenizer.encode. */
  readonly addSpecialTokens: boolean;
  /** A text that must have more tokens is rejected before it is tokenized. */
  readonly maxTokens: number;
}

export interface ChatOptions extends Omit<ChatRenderOptions, 'imageTexts'> {
  /** As in TextOptions, of the rendered chat. */
  readonly maxTokens: number;
  /** Those that the messages' image parts stand for, in order; none if left out. */
  readonly images?: readonly ImageFile[] | undefined;
}

export interface ChatTokens extends EncodedPrompt {
  /** Left out where there are none. */
  readonly images?: readonly PromptImage[];
}

/** Makes prompts: short ones at once, all others in threads, where they count as waiting requests. */
export class PromptEncoder {
  readonly #options: PromptEncoderOptions;

  constructor(options: PromptEncoderOptions) {
    this.#options = options;
  }

  /** Whether the model has a chat template. */
  get canChat(): boolean {
    return this.#options.model.chat !== null;
  }

  /** Tokens that end what a model fills in; null for one that fills in nothing. */
  get infillStops(): InfillEncoder['stopTokenIds'] | null {
    return this.#options.model.infill?.stopTokenIds ?? null;
  }

  /**
   * A prompt to fill in what is missing; `infillStops` must not be null.
   * @param maxTokens see InfillEncoder.encode @throws as `encodeTexts`
   */
  async encodeInfill(text: InfillText, maxTokens: number, caller: Caller): Promise<Int32Array> {
    const [prompt] = await this.#run({ type: 'infill', text, maxTokens }, caller);
    return prompt?.tokenIds ?? new Int32Array();
  }

  /**
   * The token ids of each text.
   * @throws PromptTooLongError, MissingTokenError. For what is not short also QueueFullError, ShuttingDownError,
   *   TaskTooCostlyError, TaskError; the signal's reason on abort.
   */
  async encodeTexts(
    texts: readonly string[],
    options: TextOptions,
    caller: Caller,
  ): Promise<Int32Array[]> {
    for (const text of texts) requireShort(this.#options.model.tokenizer, text, options.maxTokens);
    const prompts = await this.#run({ type: 'texts', texts, ...options }, caller);
    return prompts.map(({ tokenIds }) => tokenIds);
  }

  /**
   * Prompt of a chat.
   * @throws ChatTemplateError when the template refuses it; its message is for the client. As ImageCutter.cut,
   *   otherwise as `encodeTexts`.
   */
  async encodeChat(
    messages: readonly ChatMessage[],
    { maxTokens, images = [], ...options }: ChatOptions,
    caller: Caller,
  ): Promise<ChatTokens> {
    const cutter = images.length > 0 ? (this.#options.images ?? null) : null;
    if (cutter === null) return await this.#encodeChat({ messages, options, maxTokens }, caller);
    const cut = await cutter.cut(images, caller);
    const imageTexts = cut.map(({ placeholder }) => placeholder);
    const marked = { messages, options: { ...options, imageTexts }, maxTokens };
    const { text, tokenIds } = await this.#encodeChat(marked, caller);
    return { text, ...placeImages(tokenIds, cut, cutter) };
  }

  async #encodeChat(
    chat: Omit<Extract<PromptJob, { type: 'chat' }>, 'type'>,
    caller: Caller,
  ): Promise<EncodedPrompt> {
    const [prompt] = await this.#run({ type: 'chat', ...chat }, caller);
    if (prompt === undefined) throw new Error('a chat came to no prompt');
    return prompt;
  }

  /** Prompts that ask whether a document answers a query; see `PromptJob`. @throws as `encodeTexts` */
  async encodePairs(
    pairs: readonly (readonly [query: string, document: string])[],
    maxTokens: number,
    caller: Caller,
  ): Promise<Int32Array[]> {
    const prompts = await this.#run({ type: 'pairs', pairs, maxTokens }, caller);
    return prompts.map(({ tokenIds }) => tokenIds);
  }

  /** Token sequences of the words; see `encodeBadWords`. @throws as `encodeTexts` */
  async encodeBadWords(words: readonly string[], caller: Caller): Promise<Int32Array[]> {
    const encoded = await this.#run({ type: 'bad-words', words }, caller);
    return encoded.map(({ tokenIds }) => tokenIds);
  }

  /** The text of token ids, special ones included. @throws as `encodeTexts` */
  async decode(tokenIds: readonly number[], caller: Caller): Promise<string> {
    const [decoded] = await this.#run({ type: 'decode', tokenIds }, caller);
    return decoded?.text ?? '';
  }

  async #run(job: PromptJob, caller: Caller): Promise<readonly EncodedPrompt[]> {
    const begunAt = performance.now();
    try {
      return await this.#encode(job, caller);
    } finally {
      caller.record?.tokenized(begunAt, performance.now());
    }
  }

  async #encode(job: PromptJob, caller: Caller): Promise<readonly EncodedPrompt[]> {
    const { model, admission, pool } = this.#options;
    if (!isLongerThan(LIMITS.promptCharactersAtOnce, job)) return runPromptJob(model, job);
    const prepared = admission.prepare(caller.client);
    try {
      return await pool.run(job, caller);
    } finally {
      prepared();
    }
  }
}
