/** Runs a beam search: places, steps of the engine, and the texts that were found. */
import { setImmediate } from 'node:timers/promises';
import type { EngineRequest, Logprobs } from '../../engine/request.ts';
import { outcomeOfAbort } from '../deadline.ts';
import type { Engine } from '../engine-process/engine-contract.ts';
import { EngineError } from '../engine-process/errors.ts';
import type { Admission } from '../queue/admission.ts';
import { heardByMany } from '../heard-by-many.ts';
import type { TextTokenizer } from '../text/tokenizer.ts';
import { takePlaces } from './beam-places.ts';
import {
  type Beam,
  BeamSearch,
  type FoundText,
  inPlace,
  logprobsOf,
  tokensOf,
} from './beam-search.ts';
import { CompletionAssembler } from './completion-assembler.ts';
import { stopTokensOf, type TextRules, toEngineRequest } from './engine-request.ts';
import {
  type GenerationOutcome,
  type ObserveGeneration,
  outcomeOf,
} from './generation-observer.ts';
import type { GenerationDelta, GenerationRequest } from './generation.ts';
import { GREEDY } from './greedy-sampling.ts';

/** Tokens of a text that are turned into characters at once: other work goes on between. */
const TOLD_TOKENS = 256;

export interface BeamParts extends TextRules {
  readonly engine: Engine;
  readonly tokenizer: TextTokenizer;
  readonly admission: Pick<Admission, 'acquire'>;
  readonly observe?: ObserveGeneration;
}

/** The engine's answer for one beam. */
interface Row {
  readonly logprobs: Logprobs;
  readonly numCachedTokens: number | undefined;
}

/**
 * Each step asks the engine for one token after every beam, and what else was likely there. A beam is
 * its prompt and the tokens so far, which the prefix cache has from the step before: little but its last
 * token is computed. So beams are sequences like all others to the engine, in batches, when memory is
 * short and after a crash.
 *
 * While it searches, a delta a step tells how many tokens were computed; the texts come at the end, the
 * best first, and everything is freed before.
 * @throws QueueFullError before anything is queued; EngineError; the signal's reason on abort
 */
export async function* searchBeams(
  parts: BeamParts,
  request: GenerationRequest,
  beams: NonNullable<GenerationRequest['beams']>,
  ofCaller: AbortSignal,
): AsyncGenerator<GenerationDelta, void> {
  const signal = heardByMany(ofCaller);
  const observer = parts.observe?.(request) ?? null;
  observer?.queued(performance.now());
  const places = takePlaces(parts.admission, placeOf(request), beams.width, signal);
  let hasEnded = false;
  const end = (outcome: GenerationOutcome): void => {
    places.release();
    if (!hasEnded) observer?.finished(outcome, performance.now(), 0);
    hasEnded = true;
  };
  // Whoever reads slowly holds its places no longer.
  const abort = (): void => end(outcomeOfAbort(signal));
  signal.addEventListener('abort', abort, { once: true });
  try {
    await places.first;
    observer?.admitted(performance.now());
    const stopTokenIds = stopTokensOf(request, parts.eosTokenIds);
    const { maxTokens, minTokens, logprobs } = request;
    const search = new BeamSearch({ ...beams, stopTokenIds, maxTokens, minTokens, logprobs });
    const steps = new BeamSteps(parts, request, search.numCandidates);
    while (!search.isOver) {
      const rows = await steps.compute(search.live, places, signal);
      observer?.tokens(rows.length, performance.now());
      search.advance(rows.map((row) => row.logprobs));
      yield { ...NOTHING, numSpentTokens: rows.length, numCachedTokens: steps.takeCached() };
    }
    places.release();
    const found = search.found.slice(0, beams.numTexts);
    if (found.length < beams.numTexts) throw new EngineError('the search found too few texts');
    for (const [choice, text] of found.entries()) {
      for (const delta of toldDeltas(parts.tokenizer, request, text)) {
        const isLast = choice === found.length - 1 && delta.finishReason !== null;
        if (isLast) end(found[0]?.finishReason ?? 'length');
        yield { ...delta, choice, numSpentTokens: 0 };
        await setImmediate();
        if (!isLast) signal.throwIfAborted();
      }
    }
  } catch (error) {
    end(signal.aborted ? outcomeOfAbort(signal) : outcomeOf(error));
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    end(outcomeOfAbort(signal));
  }
}

const NOTHING: GenerationDelta = {
  choice: 0,
  text: '',
  tokenIds: [],
  finishReason: null,
  stopReason: null,
};

/** Each of its places weighs as much as a text that is drawn. */
function placeOf({
  priority = 0,
  client = '',
  serviceClass,
  promptTokenIds,
  maxTokens,
  isNextPart = false,
}: GenerationRequest) {
  return {
    priority,
    client,
    ...(serviceClass && { tier: serviceClass.priority, share: serviceClass.share }),
    numPromptTokens: promptTokenIds.length,
    maxTokens,
    isNextPart,
  };
}

/** Has the engine compute beams, step by step. */
class BeamSteps {
  readonly #engine: Engine;
  readonly #common: Omit<EngineRequest, 'id'>;
  /** Beams of the last step, in the order in which the engine had them. */
  #before: readonly Beam[] = [];
  #numCached: number | undefined;

  constructor(parts: BeamParts, request: GenerationRequest, numTop: number) {
    this.#engine = parts.engine;
    this.#common = {
      ...toEngineRequest(request, parts),
      // Which token it takes does not matter.
      sampling: GREEDY,
      minTokens: 0,
      stopTokenIds: [],
      logprobs: numTop,
    };
  }

  /** @returns a row for each beam, in order; no more at a time than there are places */
  async compute(
    beams: readonly Beam[],
    places: { readonly count: number },
    signal: AbortSignal,
  ): Promise<Row[]> {
    const ordered = inPlace(beams, this.#before);
    this.#before = ordered;
    const rows = new Map<Beam, Row>();
    for (let at = 0; at < ordered.length;) {
      const some = ordered.slice(at, at + Math.max(1, places.count));
      const computed = await Promise.all(
        some.map((beam) => this.#computeOne(beam, beam === beams[0], signal)),
      );
      for (const [index, beam] of some.entries()) {
        const row = computed[index];
        if (row) rows.set(beam, row);
      }
      at += some.length;
    }
    return beams.flatMap((beam) => rows.get(beam) ?? []);
  }

  /** Tokens of the prompt that were cached before the search; once. */
  takeCached(): number | undefined {
    const numCached = this.#numCached;
    this.#numCached = undefined;
    return numCached;
  }

  async #computeOne(beam: Beam, isBest: boolean, signal: AbortSignal): Promise<Row> {
    const outputTokenIds = tokensOf(beam);
    const wanted: Omit<EngineRequest, 'id'> = {
      ...this.#common,
      outputTokenIds,
      maxTokens: outputTokenIds.length + 1,
      ...(beam.parent === null ? {} : { branch: isBest ? 'main' : 'side' }),
    };
    for await (const { logprobs, numCachedTokens } of this.#engine.generate(wanted, signal)) {
      const [row] = logprobs ?? [];
      if (row === undefined) break;
      if (beam.parent === null) this.#numCached = numCachedTokens;
      return { logprobs: row, numCachedTokens };
    }
    throw new EngineError('the engine told nothing of a beam');
  }
}

/** A text's deltas, some tokens at a time. */
function* toldDeltas(
  tokenizer: TextTokenizer,
  request: GenerationRequest,
  { beam, finishReason }: FoundText,
): Generator<GenerationDelta, void> {
  const assembler = new CompletionAssembler(tokenizer, request);
  const tokenIds = [...tokensOf(beam)];
  const logprobs = logprobsOf(beam);
  for (let start = 0; start < tokenIds.length; start += TOLD_TOKENS) {
    const end = start + TOLD_TOKENS;
    yield assembler.push({
      tokenIds: tokenIds.slice(start, end),
      finishReason: end < tokenIds.length ? null : finishReason,
      ...(request.logprobs === null ? {} : { logprobs: logprobs.slice(start, end) }),
    });
  }
}
