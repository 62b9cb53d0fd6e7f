import type { EngineRequest } from '../../engine/request.ts';
import type { GenerationRequest } from './generation.ts';
import type { EmbeddedImages } from './prompt-image.ts';

/** Share of the time between tokens that a step is planned for: sampling and sending take the rest. */
const STEP_SHARE = 0.85;

/** Tokens that end a request's text: the model's, unless it ignores them, and its own. */
export function stopTokensOf(
  { grammar, ignoreEos, stopTokenIds }: GenerationRequest,
  eosTokenIds: readonly number[],
): number[] {
  // Only this way can a grammar's end be detected.
  const ignores = ignoreEos && grammar === undefined;
  return [...new Set([...(ignores ? [] : eosTokenIds), ...stopTokenIds])];
}

/** Facts about a model's own texts. */
export interface TextRules {
  /** Tokens that end a text unless the request ignores them. */
  readonly eosTokenIds: readonly number[];
  /** Sequences of tokens that no text has, besides a request's own; left out for none. */
  readonly bannedWords?: readonly Int32Array[];
}

/** A request as the engine takes it, from now on. @param seen its images or speech */
export function toEngineRequest(
  request: GenerationRequest,
  { eosTokenIds, bannedWords = [] }: TextRules,
  seen?: EmbeddedImages,
): Omit<EngineRequest, 'id'> {
  const { grammar = null, serviceClass } = request;
  return {
    promptTokenIds: request.promptTokenIds,
    outputTokenIds: request.resumed?.outputTokenIds ?? new Int32Array(),
    maxTokens: request.maxTokens,
    minTokens: request.minTokens,
    priority: request.priority ?? 0,
    tier: serviceClass?.priority ?? 0,
    targetItlMs: serviceClass?.itlMs ? STEP_SHARE * serviceClass.itlMs : null,
    arrivalMs: performance.now(),
    cacheSalt: request.cacheSalt ?? '',
    adapter: request.adapter ?? null,
    stopTokenIds: stopTokensOf(request, eosTokenIds),
    sampling: request.sampling,
    grammar,
    badWords: bannedWords.length === 0 ? request.badWords : [...bannedWords, ...request.badWords],
    logprobs: request.logprobs,
    promptLogprobs: request.promptLogprobs,
    label: {
      requestId: request.record?.requestId ?? null,
      serviceClass: serviceClass?.name ?? null,
    },
    ...(request.thought === undefined ? {} : { thought: request.thought }),
    ...(request.readout === undefined ? {} : { readout: request.readout }),
    ...(request.speechRule === undefined ? {} : { speechRule: request.speechRule }),
    ...(seen === undefined ? {} : { embeddings: seen.embeddings }),
  };
}
