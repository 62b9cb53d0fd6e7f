/** The line that a generation walks, from what a client asks to the deltas of its answer. */
import type { EngineAdapter } from '../../../engine/request.ts';
import type { AnsweringModel, Caller } from '../../../front/caller.ts';
import type { FanOutRequest } from '../../../front/generation/fan-out.ts';
import type { GenerationDelta } from '../../../front/generation/generation.ts';
import { watchStream } from '../../../front/generation/map-stream.ts';
import type { ModelFacts, RequestRecord } from '../../../front/request-record.ts';
import type { AnswerPlan } from '../../../front/response-cache/generation-cache.ts';
import { once } from '../../../once.ts';
import type { Charge } from './charge.ts';

/** A request on its way to the engine. Each stage passes it on, or another with some parts of its own. */
export interface Generation {
  readonly operation: ModelFacts['operation'];
  /** The request as its client made it. */
  readonly asked: FanOutRequest;
  /** The request as it will be run. */
  readonly request: FanOutRequest;
  readonly caller: Caller & { readonly record: RequestRecord };
  /** The model as answers name it, which for an adapter is the adapter's name. */
  readonly model: Omit<AnsweringModel, 'adapter' | 'contentId'>;
  /** The adapter that was picked; null for the model alone. */
  readonly adapter: EngineAdapter | null;
  /** Generations that end with the request's hold on its model. */
  readonly started: Set<AbortController>;
  /** Aborted to end it, whoever wants that. */
  readonly ending: AbortController;
  /** Aborts when it is to end: with `ending`, with its client, or at its deadline. */
  readonly signal: AbortSignal;
  readonly charge: Charge;
  /** How equal requests share an answer; null where none is looked up or kept. */
  readonly plan: AnswerPlan | null;
}

export type Deltas = AsyncIterableIterator<GenerationDelta, void>;

/** The rest of the line. A refusal rejects; what happens later is met in the deltas. */
export type Next = (generation: Generation) => Promise<Deltas>;

/** One concern of a generation: what happens before it, to its deltas, and after it. */
export type Stage = (generation: Generation, next: Next) => Promise<Deltas>;

/** @param last what the stages lead to */
export function lineOf(stages: readonly Stage[], last: Next): Next {
  return stages.reduceRight<Next>((next, stage) => (generation) => stage(generation, next), last);
}

interface Watcher {
  onValue?(delta: GenerationDelta): void;
  /** Called once: at the end, at a failure, or when it was ended, be it that nobody has begun to read. */
  onEnd(): void;
}

/** `deltas`, watched until the generation is over. */
export function watchGeneration(
  deltas: Deltas,
  { signal }: Pick<Generation, 'signal'>,
  watcher: Watcher,
): Deltas {
  const end = once(() => {
    // Node keeps a signal made of others as long as somebody listens to it, with the whole request.
    signal.removeEventListener('abort', end);
    watcher.onEnd();
  });
  signal.addEventListener('abort', end, { once: true });
  return watchStream(deltas, { onValue: (delta) => watcher.onValue?.(delta), onEnd: end });
}

/** A request with some parts of all its prompts set. */
export function withPrompts(
  request: FanOutRequest,
  parts: Partial<FanOutRequest['prompts'][number]>,
): FanOutRequest {
  return { ...request, prompts: request.prompts.map((prompt) => ({ ...prompt, ...parts })) };
}

/** Tokens of all prompts of a request. */
export function countPromptTokens({ prompts }: FanOutRequest): number {
  return prompts.reduce((sum, { promptTokenIds }) => sum + promptTokenIds.length, 0);
}
