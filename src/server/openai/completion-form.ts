/** The answers of /v1/completions, streamed and in one piece. */
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { GenerationDelta } from '../../front/generation/generation.ts';
import { countCharacters } from '../../front/generation/logprob-assembler.ts';
import type { TokenLogprob } from '../../front/generation/token-logprob.ts';
import {
  chunkUsage,
  type AnswerHead,
  type AnswerOptions,
  type ChunkShape,
  type GatheredAnswer,
  type JsonObject,
} from './answer.ts';
import { pickBest } from './choices.ts';
import { joinLogprobs, type CompletionLogprobs, type LogprobsFormat } from './logprobs.ts';
import { UsageCounter } from './usage.ts';

/** What one request's answers look like. */
export interface CompletionForm {
  readonly head: AnswerHead;
  readonly options: AnswerOptions;
  readonly request: FanOutRequest;
  /** Choices of each prompt. */
  readonly n: number;
  /** What the choices of each prompt begin with; empty without `echo`. */
  readonly echoes: readonly string[];
  /** False when the echo is all there is. */
  readonly showsOutput: boolean;
  /** Likeliest tokens to report beside each; null reports no log-probabilities. */
  readonly numTop: number | null;
  /** The same for vLLM's `prompt_logprobs`. */
  readonly numPromptTop: number | null;
  readonly format: LogprobsFormat;
}

export class CompletionChunks implements ChunkShape {
  readonly #form: CompletionForm;
  readonly #usage: UsageCounter;
  readonly #begun = new Set<number>();

  constructor(form: CompletionForm) {
    this.#form = form;
    this.#usage = new UsageCounter(form.request);
  }

  push(given: GenerationDelta): JsonObject[] {
    const { options, showsOutput } = this.#form;
    const delta = showsOutput ? given : withoutOutput(given);
    const { choice: index = 0, text, tokenIds, finishReason, stopReason } = delta;
    this.#usage.add(delta);
    const chunks = this.#begun.has(index) ? [] : this.#begin(index, delta);
    const logprobs = outputLogprobs(this.#form, index, delta.logprobs);
    const hasTokensToShow = options.returnTokenIds || logprobs !== null;
    const hasContent = text !== '' || (hasTokensToShow && tokenIds.length > 0);
    if (hasContent) {
      chunks.push(
        this.#chunk({
          index,
          text,
          logprobs,
          finish_reason: null,
          ...(options.returnTokenIds ? { token_ids: tokenIds } : {}),
        }),
      );
    }
    if (finishReason !== null) {
      chunks.push(
        this.#chunk({
          index,
          text: '',
          logprobs: null,
          finish_reason: finishReason,
          stop_reason: stopReason,
          ...(options.returnTokenIds ? { token_ids: [] } : {}),
        }),
      );
    }
    return chunks;
  }

  end(): JsonObject[] {
    if (!this.#form.options.includeUsage) return [];
    return [{ ...this.#envelope(), choices: [], usage: this.#usage.usage }];
  }

  /** What comes before a choice's first token: its echo, the ids of its prompt. */
  #begin(index: number, { promptLogprobs }: GenerationDelta): JsonObject[] {
    this.#begun.add(index);
    const { options, format, numTop } = this.#form;
    const promptTokenIds = promptOf(this.#form, index);
    const echo = echoOf(this.#form, index);
    if (echo === null && !options.returnTokenIds) return [];
    const hasLogprobs = echo !== null && numTop !== null;
    return [
      this.#chunk({
        index,
        text: echo ?? '',
        logprobs: hasLogprobs
          ? format.echo(promptTokenIds[0] ?? 0, promptLogprobs ?? [], numTop)
          : null,
        finish_reason: null,
        ...(options.returnTokenIds ? { prompt_token_ids: [...promptTokenIds], token_ids: [] } : {}),
      }),
    ];
  }

  #chunk(choice: JsonObject): JsonObject {
    const usage = chunkUsage(this.#form.options, this.#usage);
    return { ...this.#envelope(), choices: [choice], ...usage };
  }

  #envelope(): JsonObject {
    const { id, created, model } = this.#form.head;
    return { id, object: 'text_completion', created, model };
  }
}

/** @param answers one for each sequence of the request, in order */
export function completion(form: CompletionForm, answers: readonly GatheredAnswer[]): JsonObject {
  const { head, n, request, showsOutput } = form;
  const shown = showsOutput ? answers : answers.map(withoutOutput);
  const usage = new UsageCounter(request);
  for (const [choice, answer] of shown.entries()) usage.add({ ...answer, choice });
  return {
    id: head.id,
    object: 'text_completion',
    created: head.created,
    model: head.model,
    choices: pickBest(shown, request.numChoices, n).map((answer, index) =>
      toChoice(form, index, answer),
    ),
    usage: usage.usage,
  };
}

function toChoice(form: CompletionForm, index: number, answer: GatheredAnswer): JsonObject {
  const { format, numPromptTop, numTop, options } = form;
  const promptTokenIds = promptOf(form, index);
  const echo = echoOf(form, index);
  const output = outputLogprobs(form, index, answer.logprobs);
  const logprobs =
    output === null || numTop === null || echo === null
      ? output
      : joinLogprobs([format.echo(promptTokenIds[0] ?? 0, answer.promptLogprobs, numTop), output]);
  return {
    index,
    text: (echo ?? '') + answer.text,
    logprobs,
    finish_reason: answer.finishReason,
    stop_reason: answer.stopReason,
    ...(numPromptTop === null
      ? {}
      : { prompt_logprobs: format.prompt(answer.promptLogprobs, numPromptTop) }),
    ...(options.returnTokenIds
      ? { prompt_token_ids: [...promptTokenIds], token_ids: answer.tokenIds }
      : {}),
  };
}

function outputLogprobs(
  form: CompletionForm,
  index: number,
  entries: readonly TokenLogprob[] = [],
): CompletionLogprobs | null {
  if (form.numTop === null) return null;
  const offset = countCharacters(echoOf(form, index) ?? '');
  return form.format.completion(entries, form.numTop, offset);
}

/** The tokens of the prompt that a choice continues. */
function promptOf({ n, request }: CompletionForm, index: number): Int32Array {
  return request.prompts[Math.floor(index / n)]?.promptTokenIds ?? new Int32Array();
}

function echoOf({ echoes, n }: CompletionForm, index: number): string | null {
  return echoes[Math.floor(index / n)] ?? null;
}

/** The token that had to be generated for the prompt to be scored is not part of the answer. */
function withoutOutput<Piece extends GatheredAnswer | GenerationDelta>(piece: Piece): Piece {
  const finishReason = piece.finishReason === null ? null : 'length';
  return { ...piece, text: '', tokenIds: [], logprobs: [], finishReason, stopReason: null };
}
