/** Answers of /infill and /completion, with the fields that llama-server's clients read. */
import type { Caller } from '../../front/caller.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { GenerationDelta } from '../../front/generation/generation.ts';
import { UsageCounter, type TokenUsage } from '../../front/generation/token-usage.ts';
import type { CompletionText, Gathered } from '../generation/gather.ts';
import type { JsonObject } from '../json-object.ts';

export class LlamaServerAnswer {
  readonly #model: string;
  readonly #usage: UsageCounter;
  readonly #isPromptAlone: boolean;
  /** Longest text that goes on as it is. */
  readonly #contextLength: number;

  /** @param isPromptAlone whether it is only to be computed: the answer has no text */
  constructor(model: string, request: FanOutRequest, isPromptAlone: boolean) {
    this.#model = model;
    this.#usage = new UsageCounter(request);
    this.#isPromptAlone = isPromptAlone;
    this.#contextLength = request.prompts[0]?.shift?.contextLength ?? Infinity;
  }

  push(delta: GenerationDelta, caller: Caller): JsonObject[] {
    this.#usage.add(delta);
    const { finishReason, stopReason } = delta;
    const { numPromptTokens, numOutputTokens } = this.#usage.usage;
    const text = this.#isPromptAlone ? '' : delta.text;
    const piece = {
      index: 0,
      content: text,
      stop: false,
      tokens_predicted: numOutputTokens,
      tokens_evaluated: numPromptTokens,
    };
    if (finishReason === null) return text === '' ? [] : [piece];
    const end = this.#end('', { finishReason, stopReason }, this.#usage.usage, caller);
    return text === '' ? [end] : [piece, end];
  }

  whole({ choices: [choice], usage }: Gathered<CompletionText>, caller: Caller): JsonObject {
    if (choice === undefined) throw new Error('the generation had no choice');
    return this.#end(choice.content.text, choice, usage, caller);
  }

  #end(
    text: string,
    {
      finishReason,
      stopReason,
    }: { readonly finishReason: string; readonly stopReason: string | number | null },
    { numPromptTokens, numCachedTokens, numOutputTokens }: TokenUsage,
    { record }: Caller,
  ): JsonObject {
    const numPredicted = this.#isPromptAlone ? 0 : numOutputTokens;
    const isWord = typeof stopReason === 'string';
    const stopType = finishReason === 'length' ? 'limit' : isWord ? 'word' : 'eos';
    return {
      index: 0,
      content: this.#isPromptAlone ? '' : text,
      stop: true,
      model: this.#model,
      tokens_predicted: numPredicted,
      tokens_evaluated: numPromptTokens,
      tokens_cached: numCachedTokens,
      has_new_line: text.includes('\n'),
      // Whether a part of the text was left out on the way.
      truncated: numPromptTokens + numOutputTokens > this.#contextLength,
      stop_type: stopType,
      stopping_word: isWord ? stopReason : '',
      timings: {
        cache_n: numCachedTokens,
        prompt_n: numPromptTokens - numCachedTokens,
        prompt_ms: record?.msOf('prefill') ?? 0,
        predicted_n: numPredicted,
        predicted_ms: record?.msOf('decode') ?? 0,
      },
    };
  }
}
