import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { Caller } from '../../front/caller.ts';
import { type SeeingModel, withImages } from '../../front/chat/chat-images.ts';
import { encodeChat } from '../../front/chat/chat-prompt.ts';
import { toldTokenIds } from '../../front/generation/prompt-image.ts';
import { prepareChat } from '../../front/chat/prepare-chat.ts';
import { fitContext } from '../../front/generation/fit-context.ts';
import type { GenerationDelta, GenerationRequest } from '../../front/generation/generation.ts';
import { ImageSources, type RequestImages } from '../../front/images/image-sources.ts';
import { InvalidRequestError } from '../../front/invalid-request.ts';
import { encodeTexts } from '../../front/prompts/encode-texts.ts';
import type { GrammarSource } from '../../grammar/grammar-source.ts';
import type { EncoderRuntime, TextRuntime } from '../../server/runtimes.ts';
import { ModelClosedError, toProgramError } from './errors.ts';
import { toChatRequest } from './generate-options.ts';
import type { EmbedOptions, GenerateOptions, Message, Model, Prompt, TextDelta } from './model.ts';

/** Over a runtime as servers have it. */
export class InProcessModel implements Model {
  readonly name: string;
  readonly #runtime: TextRuntime | EncoderRuntime;
  readonly #images = ImageSources.ofRequestsAlone();
  readonly #running = new Set<AbortController>();
  #closing: Promise<void> | null = null;

  constructor(runtime: TextRuntime | EncoderRuntime) {
    this.#runtime = runtime;
    this.name = runtime.model.id;
  }

  get kind(): Model['kind'] {
    return this.#runtime.kind;
  }

  get maxModelLen(): number {
    const runtime = this.#runtime;
    return runtime.kind === 'text' ? runtime.model.maxModelLen : runtime.encoder.maxTokens;
  }

  async generate(prompt: Prompt, options?: GenerateOptions): Promise<string> {
    let text = '';
    for await (const delta of this.stream(prompt, options)) text += delta.text;
    return text;
  }

  async *stream(
    prompt: Prompt,
    options: GenerateOptions = {},
  ): AsyncGenerator<TextDelta, void, undefined> {
    const { caller, end } = this.#begin(options.signal);
    const images = this.#imagesOfRequest();
    try {
      const runtime = this.#textRuntime();
      yield* typeof prompt === 'string'
        ? continueText(runtime, prompt, options, caller)
        : answerChat({ ...runtime, images }, prompt, options, caller);
    } catch (error) {
      throw toProgramError(error);
    } finally {
      images?.release();
      end();
    }
  }

  async embed(
    texts: readonly string[],
    { dimensions, signal }: EmbedOptions = {},
  ): Promise<Float32Array[]> {
    const { caller, end } = this.#begin(signal);
    try {
      const { encoder } = this.#runtime;
      const { vectors } = await encoder.embed(texts, { dimensions: dimensions ?? null }, caller);
      return [...vectors];
    } catch (error) {
      throw toProgramError(error);
    } finally {
      end();
    }
  }

  async tokenize(prompt: Prompt): Promise<number[]> {
    const { caller, end } = this.#begin(undefined);
    const images = this.#imagesOfRequest();
    try {
      const runtime = this.#textRuntime();
      if (typeof prompt === 'string') return [...(await encodeText(runtime, prompt, caller))];
      const asked = toChatRequest(prompt, {}, runtime.model);
      const chat = await withImages({ ...runtime, images }, asked, caller);
      const limits = { maxTokens: runtime.model.maxModelLen, field: 'prompt' };
      return [...toldTokenIds((await encodeChat(runtime, chat, limits, caller)).tokenIds)];
    } catch (error) {
      throw toProgramError(error);
    } finally {
      images?.release();
      end();
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    for (const running of this.#running) running.abort(new ModelClosedError());
    await this.#runtime.stop();
  }

  /** Null for a model that takes none. */
  #imagesOfRequest(): RequestImages | null {
    const runtime = this.#runtime;
    const takesImages = runtime.kind === 'text' && runtime.takesImages === true;
    return takesImages ? this.#images.ofRequest() : null;
  }

  #textRuntime(): TextRuntime {
    if (this.#runtime.kind === 'text') return this.#runtime;
    throw new InvalidRequestError(`${this.name} is a text encoder: it makes vectors alone`);
  }

  /** @throws ModelClosedError; the signal's reason */
  #begin(signal: AbortSignal | undefined): { readonly caller: Caller; readonly end: () => void } {
    if (this.#closing !== null) throw new ModelClosedError();
    signal?.throwIfAborted();
    const running = new AbortController();
    const abort = (): void => running.abort(signal?.reason);
    // One signal may be for any number of calls: Node would report more than ten listeners as a leak.
    if (signal !== undefined) setMaxListeners(0, signal);
    signal?.addEventListener('abort', abort, { once: true });
    this.#running.add(running);
    const end = (): void => {
      signal?.removeEventListener('abort', abort);
      this.#running.delete(running);
    };
    return { caller: { client: '', signal: running.signal }, end };
  }
}

async function* continueText(
  runtime: TextRuntime,
  prompt: string,
  options: GenerateOptions,
  caller: Caller,
): AsyncGenerator<TextDelta, void, undefined> {
  const { model, prompts } = runtime;
  const { settings, badWords, limits, responseFormat } = toChatRequest([], options, model);
  const request = fitContext(
    { ...settings, badWords: await prompts.encodeBadWords(badWords, caller) },
    await encodeText(runtime, prompt, caller),
    limits,
    model,
  );
  for await (const delta of generate(runtime, request, responseFormat, caller)) {
    const { text, tokenIds, finishReason } = delta;
    yield { text, reasoning: '', tokenIds, finishReason };
  }
}

async function* answerChat(
  runtime: TextRuntime & SeeingModel,
  messages: readonly Message[],
  options: GenerateOptions,
  caller: Caller,
): AsyncGenerator<TextDelta, void, undefined> {
  const asked = toChatRequest(messages, options, runtime.model);
  const chat = await prepareChat(runtime, asked, caller);
  const deltas = chat.createDeltas(randomUUID());
  // A chat of one choice is one prompt.
  const [request] = chat.generation.prompts as readonly [GenerationRequest];
  const { grammar = null } = chat.generation;
  for await (const delta of generate(runtime, request, grammar, caller)) {
    let text = '';
    let reasoning = '';
    for (const part of deltas.push(delta).parts) {
      if (part.type === 'content') text += part.text;
      else if (part.type === 'reasoning') reasoning += part.text;
    }
    const { tokenIds, finishReason } = delta;
    yield { text, reasoning, tokenIds, finishReason };
  }
}

async function* generate(
  { generator, grammars }: TextRuntime,
  request: GenerationRequest,
  source: GrammarSource | null,
  caller: Caller,
): AsyncGenerator<GenerationDelta, void, undefined> {
  const form = source === null ? {} : { grammar: await grammars.check(source, caller) };
  yield* generator.generate({ ...request, ...form }, caller.signal);
}

/** @throws InvalidRequestError when it is longer than the model's context */
async function encodeText(
  { prompts, model }: TextRuntime,
  text: string,
  caller: Caller,
): Promise<Int32Array> {
  const options = { maxTokens: model.maxModelLen, field: 'prompt' };
  const [tokenIds = new Int32Array()] = await encodeTexts({ prompts }, [text], options, caller);
  return tokenIds;
}
