/** Responses in one piece: what the deltas of each choice come to. */
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { GenerationDelta, TokenDelta } from '../../front/generation/generation.ts';
import { UsageCounter, type TokenUsage } from '../../front/generation/token-usage.ts';
import type { TokenLogprob } from '../../front/generation/token-logprob.ts';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';

/** Collects the text of one choice. */
export interface Content<Delta> {
  add(delta: Delta): void;
}

/** The text of one choice. */
export class CompletionText implements Content<GenerationDelta> {
  text = '';

  add(delta: GenerationDelta): void {
    this.text += delta.text;
  }
}

/** One choice. */
export interface GatheredChoice<Choice> {
  readonly content: Choice;
  readonly tokenIds: readonly number[];
  /** One for each of `tokenIds`; empty when not asked for. */
  readonly logprobs: readonly TokenLogprob[];
  /** One for each prompt token but the first; empty when not asked for. */
  readonly promptLogprobs: readonly TokenLogprob[];
  readonly finishReason: string;
  readonly stopReason: string | number | null;
}

export interface Gathered<Choice> {
  /** In order. */
  readonly choices: readonly GatheredChoice<Choice>[];
  readonly usage: TokenUsage;
}

/**
 * Runs all choices of a generation to their ends.
 * @throws ApiError 400 when they come to more log-probabilities than a response in one piece may have
 */
export async function gather<Delta extends TokenDelta, Choice extends Content<Delta>>(
  deltas: AsyncIterable<Delta>,
  request: FanOutRequest,
  createContent: () => Choice,
): Promise<Gathered<Choice>> {
  const { prompts, numChoices } = request;
  const usage = new UsageCounter(request);
  const numAll = prompts.length * numChoices;
  const choices: ChoiceGatherer<Delta, Choice>[] = [];
  // Made when it is needed: until the loop runs, nothing would end the generation.
  const choiceAt = (index: number) => (choices[index] ??= new ChoiceGatherer(createContent()));
  let numFinished = 0;
  const bound = new LogprobsBound();
  for await (const delta of deltas) {
    bound.add(delta);
    usage.add(delta);
    choiceAt(delta.choice ?? 0).add(delta);
    if (delta.finishReason !== null && ++numFinished === numAll) break;
  }
  return {
    choices: Array.from({ length: numAll }, (_, index) => choiceAt(index).finish()),
    usage: usage.usage,
  };
}

/** Counts the log-probabilities of an answer in one piece. */
export class LogprobsBound {
  #count = 0;

  /** @throws ApiError 400 when they are more than a response in one piece may have */
  add({ logprobs, promptLogprobs }: Pick<TokenDelta, 'logprobs' | 'promptLogprobs'>): void {
    this.#count += countLogprobs(logprobs) + countLogprobs(promptLogprobs);
    if (this.#count <= LIMITS.answeredLogprobs) return;
    const message = `The answer has more than ${LIMITS.answeredLogprobs} log-probabilities, too many for one piece. Please stream it, or ask for fewer.`;
    throw badRequest(message, 'logprobs', 'too_many_logprobs');
  }
}

function countLogprobs(entries: readonly TokenLogprob[] | undefined): number {
  if (entries === undefined) return 0;
  return entries.reduce((sum, { top }) => sum + 1 + top.length, 0);
}

class ChoiceGatherer<Delta extends TokenDelta, Choice extends Content<Delta>> {
  readonly #content: Choice;
  readonly #tokenIds: number[] = [];
  readonly #logprobs: TokenLogprob[] = [];
  #promptLogprobs: readonly TokenLogprob[] = [];
  #last: Delta | undefined;

  constructor(content: Choice) {
    this.#content = content;
  }

  add(delta: Delta): void {
    this.#content.add(delta);
    for (const tokenId of delta.tokenIds) this.#tokenIds.push(tokenId);
    for (const logprob of delta.logprobs ?? []) this.#logprobs.push(logprob);
    this.#promptLogprobs = delta.promptLogprobs ?? this.#promptLogprobs;
    this.#last = delta;
  }

  finish(): GatheredChoice<Choice> {
    const { finishReason = null, stopReason = null } = this.#last ?? {};
    if (finishReason === null) throw new Error('the generation ended without a finish reason');
    return {
      content: this.#content,
      tokenIds: this.#tokenIds,
      logprobs: this.#logprobs,
      promptLogprobs: this.#promptLogprobs,
      finishReason,
      stopReason,
    };
  }
}
