/** The responses of /v1/completions, streamed and in one piece. */
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { GenerationDelta } from '../../front/generation/generation.ts';
import { countCharacters } from '../../front/generation/logprob-assembler.ts';
import type { TokenLogprob } from '../../front/generation/token-logprob.ts';
import { UsageCounter } from '../../front/generation/token-usage.ts';
import {
  joinLogprobs,
  type CompletionLogprobs,
  type LogprobsFormat,
} from '../generation/logprobs-format.ts';
import { jsonWriter, type Sendable, type WrittenJson } from '../http/written-json.ts';
import type { JsonObject } from '../json-object.ts';
import { pickBest } from './choices.ts';
import type { CompletionText, Gathered, GatheredChoice } from '../generation/gather.ts';
import { chunkUsage, type ResponseHead, type ResponseOptions } from './response.ts';
import { toUsage, type Usage } from './usage.ts';

/** Form of one request's responses. */
export interface CompletionResponseFormat {
  readonly head: ResponseHead;
  readonly options: ResponseOptions;
  readonly request: FanOutRequest;
  /** Choices of each prompt. */
  readonly n: number;
  /** Echo that the choices of each prompt begin with; empty without `echo`. */
  readonly echoes: readonly string[];
  /** Likeliest tokens to report for each position; null reports no log-probabilities. */
  readonly numTop: number | null;
  /** The same for vLLM's `prompt_logprobs`. */
  readonly numPromptTop: number | null;
  readonly logprobs: LogprobsFormat;
}

export class CompletionChunks {
  readonly #format: CompletionResponseFormat;
  readonly #usage: UsageCounter;
  /** Whether chunks report nothing about tokens but their text, which is usual. */
  readonly #isPlain: boolean;
  readonly #writeText: (index: number, text: string) => WrittenJson;
  readonly #begun = new Set<number>();

  constructor(format: CompletionResponseFormat) {
    this.#format = format;
    this.#usage = new UsageCounter(format.request);
    const { returnTokenIds, continuousUsage } = format.options;
    this.#isPlain = !returnTokenIds && !continuousUsage && format.numTop === null;
    this.#writeText = jsonWriter((index, text) =>
      this.#chunk({ index, text, logprobs: null, finish_reason: null }),
    );
  }

  /** The chunks that `delta` becomes, in order; none when it has nothing to show. */
  push(delta: GenerationDelta): Sendable[] {
    const { options } = this.#format;
    const { choice: index = 0, text, finishReason, stopReason } = delta;
    this.#usage.add(delta);
    const chunks: Sendable[] = this.#begun.has(index) ? [] : this.#begin(index, delta);
    if (!this.#isPlain) chunks.push(...this.#detailed(index, delta));
    else if (text !== '') chunks.push(this.#writeText(index, text));
    if (finishReason !== null) {
      chunks.push(
        this.#chunk({
          index,
          text: '',
          logprobs: null,
          finish_reason: finishReason,
          stop_reason: stopReason,
          token_ids: options.returnTokenIds ? [] : undefined,
        }),
      );
    }
    return chunks;
  }

  /** With what is asked for of the tokens. */
  #detailed(index: number, { text, tokenIds, logprobs: entries }: GenerationDelta): JsonObject[] {
    const { returnTokenIds } = this.#format.options;
    const logprobs = outputLogprobs(this.#format, index, entries);
    const hasTokensToShow = (returnTokenIds || logprobs !== null) && tokenIds.length > 0;
    if (text === '' && !hasTokensToShow) return [];
    return [
      this.#chunk({
        index,
        text,
        logprobs,
        finish_reason: null,
        token_ids: returnTokenIds ? tokenIds : undefined,
      }),
    ];
  }

  /** The chunks that follow the last delta of the last choice. */
  end(): JsonObject[] {
    if (!this.#format.options.includeUsage) return [];
    return [this.#envelope([], toUsage(this.#usage.usage))];
  }

  /** Chunks before a choice's first token: its echo, the ids of its prompt. */
  #begin(index: number, { promptLogprobs }: GenerationDelta): JsonObject[] {
    this.#begun.add(index);
    const { options, logprobs, numTop } = this.#format;
    const promptTokenIds = promptOf(this.#format, index);
    const echo = echoOf(this.#format, index);
    if (echo === null && !options.returnTokenIds) return [];
    const hasLogprobs = echo !== null && numTop !== null;
    return [
      this.#chunk({
        index,
        text: echo ?? '',
        logprobs: hasLogprobs
          ? logprobs.echo(promptTokenIds[0] ?? 0, promptLogprobs ?? [], numTop)
          : null,
        finish_reason: null,
        ...(options.returnTokenIds ? { prompt_token_ids: [...promptTokenIds], token_ids: [] } : {}),
      }),
    ];
  }

  #chunk(choice: JsonObject): JsonObject {
    return this.#envelope([choice], chunkUsage(this.#format.options, this.#usage));
  }

  /** Spreads nothing: it is made for each token. */
  #envelope(choices: readonly JsonObject[], usage: Usage | null | undefined): JsonObject {
    const { id, created, model, service_tier } = this.#format.head;
    return { id, object: 'text_completion', created, model, service_tier, choices, usage };
  }
}

export function completion(
  format: CompletionResponseFormat,
  { choices, usage }: Gathered<CompletionText>,
): JsonObject {
  const { head, n, request } = format;
  return {
    id: head.id,
    object: 'text_completion',
    created: head.created,
    model: head.model,
    service_tier: head.service_tier,
    choices: pickBest(choices, request.numChoices, n).map((choice, index) =>
      toChoice(format, index, choice),
    ),
    usage: toUsage(usage),
  };
}

function toChoice(
  format: CompletionResponseFormat,
  index: number,
  choice: GatheredChoice<CompletionText>,
): JsonObject {
  const { logprobs, numPromptTop, numTop, options } = format;
  const promptTokenIds = promptOf(format, index);
  const echo = echoOf(format, index);
  const output = outputLogprobs(format, index, choice.logprobs);
  const all =
    output === null || numTop === null || echo === null
      ? output
      : joinLogprobs([
          logprobs.echo(promptTokenIds[0] ?? 0, choice.promptLogprobs, numTop),
          output,
        ]);
  return {
    index,
    text: (echo ?? '') + choice.content.text,
    logprobs: all,
    finish_reason: choice.finishReason,
    stop_reason: choice.stopReason,
    ...(numPromptTop === null
      ? {}
      : { prompt_logprobs: logprobs.prompt(choice.promptLogprobs, numPromptTop) }),
    ...(options.returnTokenIds
      ? { prompt_token_ids: [...promptTokenIds], token_ids: choice.tokenIds }
      : {}),
  };
}

function outputLogprobs(
  format: CompletionResponseFormat,
  index: number,
  entries: readonly TokenLogprob[] = [],
): CompletionLogprobs | null {
  if (format.numTop === null) return null;
  const offset = countCharacters(echoOf(format, index) ?? '');
  return format.logprobs.completion(entries, format.numTop, offset);
}

/** The tokens of the prompt that a choice continues. */
function promptOf({ n, request }: CompletionResponseFormat, index: number): Int32Array {
  return request.prompts[Math.floor(index / n)]?.promptTokenIds ?? new Int32Array();
}

function echoOf({ echoes, n }: CompletionResponseFormat, index: number): string | null {
  return echoes[Math.floor(index / n)] ?? null;
}

/** The token that had to be generated for the prompt to be scored is not part of the answer. */
export function withoutOutput(delta: GenerationDelta): GenerationDelta {
  const finishReason = delta.finishReason === null ? null : 'length';
  return { ...delta, text: '', tokenIds: [], logprobs: [], finishReason, stopReason: null };
}
