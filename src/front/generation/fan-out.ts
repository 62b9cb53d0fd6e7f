/** Runs the many sequences of one request (several prompts, n choices of each) as one stream. */
import { heardByMany } from '../heard-by-many.ts';
import type { GrammarSource } from '../../grammar/grammar-source.ts';
import { choiceSeed } from './choice-seed.ts';
import {
  type GenerationDelta,
  type GenerationDeltas,
  type GenerationRequest,
  type Generator,
  isSearch,
} from './generation.ts';
import type { ResumedChoice } from './resumption.ts';
import { mergeStreams } from './merge-streams.ts';

export interface FanOutRequest {
  /** One for each prompt. */
  readonly prompts: readonly GenerationRequest[];
  /** Sequences of each prompt; of one that is searched, the texts that are told. */
  readonly numChoices: number;
  /** The grammar of every output, not compiled yet. Free if left out. */
  readonly grammar?: GrammarSource;
  /** Tokens of each piece that is told, but for the first; each as it comes if left out. */
  readonly streamInterval?: number;
  /** By choice, where they stand if they began elsewhere. */
  readonly resumed?: readonly ResumedChoice[];
}

/** Shorter prompts fill no block of the prefix cache, so there is nothing to wait for. */
const MIN_SHARED_TOKENS = 16;

/**
 * Choices are numbered prompt by prompt. Every sequence takes a place of its own in the queue at once, so that a refusal comes at once.
 * The choices of a prompt but the first start when that one has its first token: by then they find
 * the prompt's keys and values in the prefix cache.
 *
 * When a sequence fails, all are ended and the stream throws its error.
 */
export function fanOut(
  generator: Generator,
  request: FanOutRequest,
  signal: AbortSignal,
): GenerationDeltas {
  const [only] = request.prompts;
  const isOne = request.numChoices === 1 || only?.beams !== undefined;
  return only && request.prompts.length === 1 && isOne
    ? generator.generate({ ...only, resumed: request.resumed?.[0] }, signal)
    : runMany(generator, request, signal);
}

async function* runMany(
  generator: Generator,
  { prompts, numChoices, resumed }: FanOutRequest,
  signal: AbortSignal,
): AsyncGenerator<GenerationDelta, void> {
  const ending = new AbortController();
  const any = heardByMany(signal, ending.signal);
  // A search tells all choices of its prompt.
  const areSearches = prompts.some(isSearch);
  const streams = prompts.flatMap((prompt, index) => {
    if (areSearches) return generator.generate(prompt, any);
    const from = index * numChoices;
    return choicesOf(generator, prompt, numChoices, resumed?.slice(from, from + numChoices), any);
  });
  try {
    for await (const { index, value } of mergeStreams(streams)) {
      const choice = areSearches ? index * numChoices + (value.choice ?? 0) : index;
      yield { ...value, choice };
    }
  } finally {
    // Otherwise a running choice would delay its own return until its next token.
    ending.abort(new Error('the request ended'));
  }
}

function choicesOf(
  generator: Generator,
  request: GenerationRequest,
  numChoices: number,
  resumed: readonly ResumedChoice[] | undefined,
  signal: AbortSignal,
): GenerationDeltas[] {
  const [first, ...others] = Array.from({ length: numChoices }, (_, index) => ({
    ...request,
    sampling: { ...request.sampling, seed: choiceSeed(request.sampling.seed, index) },
    resumed: resumed?.[index],
  }));
  if (!first) return [];
  const leader = generator.generate(first, signal);
  if (request.promptTokenIds.length < MIN_SHARED_TOKENS) {
    return [leader, ...others.map((other) => generator.generate(other, signal))];
  }
  let start = (): void => {};
  const mayStart = new Promise<void>((resolve) => {
    start = resolve;
  });
  return [
    signalling(leader, start),
    ...others.map((other) => generator.generate(other, signal, mayStart)),
  ];
}

/** `deltas`, calling `onBegun` at the first, or at the end if there is none. */
async function* signalling(
  deltas: GenerationDeltas,
  onBegun: () => void,
): AsyncGenerator<GenerationDelta, void> {
  try {
    for await (const delta of deltas) {
      onBegun();
      yield delta;
    }
  } finally {
    onBegun();
  }
}
