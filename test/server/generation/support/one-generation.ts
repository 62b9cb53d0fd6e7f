/** A generation for tests of single stages, and deltas to follow. */
import type {
  GenerationDelta,
  GenerationRequest,
} from '../../../../src/front/generation/generation.ts';
import { RequestRecord } from '../../../../src/front/request-record.ts';
import { Charge } from '../../../../src/server/generation/stages/charge.ts';
import type { Deltas, Generation, Next } from '../../../../src/server/generation/stages/stage.ts';

const PROMPT: GenerationRequest = {
  promptTokenIds: Int32Array.of(1, 2, 3),
  maxTokens: 10,
  minTokens: 0,
  stop: [],
  includeStopStrInOutput: false,
  stopTokenIds: [],
  ignoreEos: false,
  skipSpecialTokens: true,
  sampling: {
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
    repetitionPenalty: 1,
    presencePenalty: 0,
    frequencyPenalty: 0,
    seed: 7n,
    logitBias: null,
    allowedTokenIds: null,
  },
  badWords: [],
  logprobs: null,
  promptLogprobs: null,
};

/** @param prompt parts of its only prompt that are not the usual ones */
export function generationOf(
  parts: Partial<Generation> = {},
  prompt: Partial<GenerationRequest> = {},
): Generation {
  const request = { prompts: [{ ...PROMPT, ...prompt }], numChoices: 1 };
  const ending = new AbortController();
  const { signal } = ending;
  return {
    operation: 'text_completion',
    asked: request,
    request,
    caller: { client: 'ann', signal, record: new RequestRecord() },
    model: { id: 'm', vocabSize: 50 },
    adapter: null,
    started: new Set(),
    ending,
    signal,
    charge: new Charge(),
    plan: null,
    ...parts,
  };
}

export function delta(...tokenIds: number[]): GenerationDelta {
  return { text: 'x'.repeat(tokenIds.length), tokenIds, finishReason: null, stopReason: null };
}

async function* streamOf(deltas: readonly GenerationDelta[]): Deltas {
  yield* deltas;
}

/** The rest of a line, which tells `deltas` and notes what it was handed. */
export function follow(...deltas: readonly GenerationDelta[]): {
  readonly next: Next;
  readonly seen: Generation[];
} {
  const seen: Generation[] = [];
  return {
    seen,
    next: async (generation) => {
      seen.push(generation);
      return streamOf(deltas);
    },
  };
}

/** The rest of a line, which refuses. */
export function refuse(reason: Error): Next {
  return () => Promise.reject(reason);
}
