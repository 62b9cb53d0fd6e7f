/** The engine as the rest of the front sees it; `engine-client.ts` implements it over a process. */
import type { BlockEvent } from '../../engine/kv-cache/block-log.ts';
import type { EngineRequest, FinishReason, Logprobs } from '../../engine/request.ts';
import type { SlotState } from '../../engine/slot-state.ts';
import { type EngineStats, NO_PREFIX_TIER } from '../../engine/stats.ts';
import type { TokenDetails } from '../../engine/process/step-message.ts';
import type { EngineInfo } from '../../engine/process/protocol.ts';
import type { StepRecord } from '../../engine/tap/step-record.ts';
import { EngineError, GrammarFaultError } from './errors.ts';

/** Tokens that arrived since the consumer last looked: one per iteration, more when it fell behind. */
export interface TokenBatch {
  readonly tokenIds: readonly number[];
  /** Set on the last batch. */
  readonly finishReason: Exclude<FinishReason, 'error'> | null;
  /** One for each token, if the request asks for them. */
  readonly logprobs?: readonly Logprobs[] | undefined;
  /** Log-probabilities of all prompt tokens but the first; come with the first token, if requested. */
  readonly promptLogprobs?: Logprobs | undefined;
  /** Prompt tokens found in the cache; known with the first token. */
  readonly numCachedTokens?: number | undefined;
  /** Values of the request's readout; in the only batch, without tokens. */
  readonly values?: Float32Array | undefined;
}

/** Counters of an engine that has done nothing yet. */
export const IDLE_STATS: EngineStats = {
  numRunning: 0,
  numWaiting: 0,
  kvCacheUsage: 0,
  numSteps: 0,
  stepTokens: 0,
  numPreemptions: 0,
  numYields: 0,
  prefixCacheQueries: 0,
  prefixCacheHits: 0,
  prefixCacheAbsent: 0,
  prefixCacheChanged: 0,
  numDrafts: 0,
  numDraftTokens: 0,
  numAcceptedTokens: 0,
  numForcedDraftTokens: 0,
  numForcedAcceptedTokens: 0,
  ...NO_PREFIX_TIER,
};

export type EngineState = 'starting' | 'ready' | 'recovering' | 'failed' | 'stopped';

/** From the one in which a request does best to the one in which it does worst. */
export const ENGINE_STATES: readonly EngineState[] = [
  'ready',
  'recovering',
  'starting',
  'failed',
  'stopped',
];

/** Best state among engines that stand in for each other. */
export function bestState(states: readonly EngineState[]): EngineState {
  return ENGINE_STATES.find((state) => states.includes(state)) ?? 'stopped';
}

/** Error of a request that the engine has ended with one. */
export function failureOf({ error, isOfGrammar = false }: TokenDetails): EngineError {
  const message = error ?? 'the engine failed the request';
  return isOfGrammar ? new GrammarFaultError(message) : new EngineError(message);
}

/** Hears which blocks of an engine's cache can be found. */
export interface BlockListener {
  changed(events: readonly BlockEvent[]): void;
  /** The engine is gone, and its cache with it. */
  cleared(): void;
}

/** Watches what an engine does, iteration by iteration. */
export interface StepListener {
  /**
   * @param requestOf the request of an id in the record; undefined if it was given up meanwhile
   * @param instance which of the model's processes it is, from 0 on
   */
  stepped(
    record: StepRecord,
    requestOf: (id: number) => EngineRequest | undefined,
    instance: number,
  ): void;
  /** The process crashed, is back, or is stopped. @param numUnfinished requests that it has then */
  became(state: EngineState, numUnfinished: number, instance: number): void;
}

/** One process of an engine. */
export interface EngineInstanceState {
  readonly state: EngineState;
  /** Known once `state` has been `ready`. */
  readonly info: EngineInfo;
  readonly numCrashes: number;
}

export interface Engine {
  readonly state: EngineState;
  /** Known once `state` has been `ready`. */
  readonly info: EngineInfo;
  readonly stats: EngineStats;
  /** Times that the engine process ended unexpectedly. */
  readonly numCrashes: number;
  /** Milliseconds since an engine that has work last said anything; 0 without work. */
  readonly silentMs: number;
  /** State of its slots, after the step that runs. @throws EngineError if it can't say */
  inspect(): Promise<readonly SlotState[]>;
  /** Calls `listener` after every iteration; returns a function that stops it. */
  onStep(listener: (stats: EngineStats) => void): () => void;
  /**
   * Has the engine make records of its steps, which it does for nobody else.
   * @param every of one step in so many, by their numbers
   * @returns ends it
   */
  watchSteps(listener: StepListener, every: number): () => void;
  /** Each of its processes, for those who watch. */
  readonly instances: readonly EngineInstanceState[];
  /**
   * Runs one request. Ending the iteration early (break, return, throw) or aborting the signal
   * frees its slot at the next step; on abort the iteration throws the signal's reason.
   * @throws EngineError when the engine fails the request.
   */
  generate(request: Omit<EngineRequest, 'id'>, signal: AbortSignal): AsyncIterable<TokenBatch>;
}
