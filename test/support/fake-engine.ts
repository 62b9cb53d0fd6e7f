/** An `Engine` without a model or a process: a script says which tokens each request generates. */
import { EventEmitter, once } from 'node:events';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { EngineRequest, Logprobs, Readout } from '../../src/engine/request.ts';
import type { SlotState } from '../../src/engine/slot-state.ts';
import type { EngineStats } from '../../src/engine/stats.ts';
import type { EngineInfo } from '../../src/engine/process/protocol.ts';
import {
  type Engine,
  type EngineState,
  IDLE_STATS,
  type StepListener,
  type TokenBatch,
} from '../../src/front/engine-process/engine-contract.ts';
import { EngineError } from '../../src/front/engine-process/errors.ts';

type Request = Omit<EngineRequest, 'id'>;

/**
 * The tokens a request generates; may be endless, and may throw to fail the request. When it runs
 * out, the request ends with its first stop token, or with reason `length` if it has none.
 */
export type Script = (promptTokenIds: Int32Array, request: Request) => Iterable<number>;

export interface FakeEngineOptions {
  /** Milliseconds before each batch; 0 still lets other work run between batches. */
  readonly delayMs?: number;
  /** Batches that each request has before it waits for `release`; all of them if left out. */
  readonly heldAfter?: number;
  /** Requests, from the first on, that are not held. */
  readonly numFree?: number;
  /** Tokens delivered at once, as when the consumer fell behind. */
  readonly tokensPerBatch?: number;
  /** Tokens that every request finds in the prefix cache; none unless told. */
  readonly numCachedTokens?: number;
  /** Facts it tells of itself, where they matter. */
  readonly info?: Partial<EngineInfo>;
}

const INFO: EngineInfo = {
  runtimeVersion: 'fake',
  device: 'cpu',
  numSlots: 1,
  maxNumSeqs: 1,
  kvCacheBytes: 0,
  kvCacheTokens: 1024,
  kvBlockTokens: 16,
  threads: 1,
  hiddenSize: 4,
  embeddingWidth: null,
  sharedMemoryFd: null,
};

export class FakeEngine implements Engine {
  /** Tests may set it, to play an engine that is starting or has failed. */
  state: EngineState = 'ready';
  readonly info: EngineInfo;
  readonly numCrashes = 0;
  /** Tests may set it, to play an engine that hangs. */
  silentMs = 0;
  /** Requests in progress; 0 once every consumer has finished, broken off or aborted. */
  running = 0;
  /** Requests that ended with a finish reason. */
  finished = 0;
  /** Requests whose consumer broke off or aborted. */
  aborted = 0;
  /** Requests that ended with an error. */
  failed = 0;
  /** Every request as it came in. */
  readonly requests: Request[] = [];
  readonly #script: Script;
  readonly #delayMs: number;
  readonly #released = new EventEmitter().setMaxListeners(0);
  readonly #numFree: number;
  #heldAfter: number;
  readonly #tokensPerBatch: number;
  readonly #numCachedTokens: number;
  readonly #listeners = new Set<(stats: EngineStats) => void>();
  #numSteps = 0;

  constructor(script: Script, options: FakeEngineOptions = {}) {
    this.#script = script;
    this.#delayMs = options.delayMs ?? 0;
    this.#heldAfter = options.heldAfter ?? Infinity;
    this.#numFree = options.numFree ?? 0;
    this.#tokensPerBatch = options.tokensPerBatch ?? 1;
    this.#numCachedTokens = options.numCachedTokens ?? 0;
    this.info = { ...INFO, ...options.info };
  }

  get stats(): EngineStats {
    return {
      ...IDLE_STATS,
      numRunning: this.running,
      numSteps: this.#numSteps,
      stepTokens: this.running,
    };
  }

  async inspect(): Promise<readonly SlotState[]> {
    return [{ slot: 0, sequence: null, numKeptTokens: 12 }];
  }

  /** Number of listeners that hear of its steps. */
  get numListeners(): number {
    return this.#listeners.size;
  }

  onStep(listener: (stats: EngineStats) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Watchers of its steps, and how closely they watch; tests tell them of steps. */
  readonly watchers = new Map<StepListener, number>();

  watchSteps(listener: StepListener, every: number): () => void {
    this.watchers.set(listener, every);
    return () => {
      this.watchers.delete(listener);
    };
  }

  get instances(): readonly [this] {
    return [this];
  }

  /** Lets all requests go on, and later ones too. */
  release(): void {
    this.#heldAfter = Infinity;
    this.#released.emit('release');
  }

  async *generate(request: Request, signal: AbortSignal): AsyncGenerator<TokenBatch, void> {
    signal.throwIfAborted();
    const isFree = this.requests.push(request) <= this.#numFree;
    this.running++;
    let outcome: 'aborted' | 'failed' | 'finished' = 'aborted';
    let numBatches = 0;
    try {
      for (const batch of this.#batches(request)) {
        await this.#wait(!isFree && numBatches++ >= this.#heldAfter, signal);
        this.#numSteps++;
        if (batch.finishReason !== null) outcome = 'finished';
        for (const listener of this.#listeners) listener(this.stats);
        yield batch;
      }
    } catch (error) {
      signal.throwIfAborted();
      outcome = 'failed';
      throw error instanceof EngineError ? error : new EngineError(String(error), { cause: error });
    } finally {
      this.running--;
      this[outcome]++;
    }
  }

  *#batches(request: Request): Generator<TokenBatch> {
    if (request.readout) {
      const values = fakeReading(request.promptTokenIds, request.readout);
      yield { tokenIds: [], finishReason: 'stop', values, ...this.#firstFields(request) };
      return;
    }
    let rest = this.#firstFields(request);
    for (const batch of this.#tokens(request)) {
      yield { ...withLogprobs(batch, request), ...rest };
      rest = {};
    }
  }

  #firstFields({ promptTokenIds, promptLogprobs }: Request): Partial<TokenBatch> {
    const numCachedTokens = this.#numCachedTokens;
    if (promptLogprobs === null) return { numCachedTokens };
    const scored = fakeLogprobs(promptTokenIds.slice(1), promptLogprobs);
    return { numCachedTokens: 0, promptLogprobs: scored };
  }

  *#tokens(request: Request): Generator<TokenBatch> {
    const limit = request.maxTokens - request.outputTokenIds.length;
    let tokenIds: number[] = [];
    let numTokens = 0;
    let numKnown = request.outputTokenIds.length;
    for (const tokenId of this.#scriptThenStop(request)) {
      if (numKnown-- > 0) continue;
      tokenIds.push(tokenId);
      numTokens++;
      const mayStop = numTokens > request.minTokens;
      if (mayStop && request.stopTokenIds.includes(tokenId)) {
        yield { tokenIds, finishReason: 'stop' };
        return;
      }
      if (numTokens >= limit) break;
      if (tokenIds.length === this.#tokensPerBatch) {
        yield { tokenIds, finishReason: null };
        tokenIds = [];
      }
    }
    yield { tokenIds, finishReason: 'length' };
  }

  *#scriptThenStop(request: Request): Generator<number> {
    yield* this.#script(request.promptTokenIds, request);
    const stopTokenId = request.stopTokenIds[0];
    if (stopTokenId !== undefined) yield stopTokenId;
  }

  async #wait(isHeld: boolean, signal: AbortSignal): Promise<void> {
    try {
      if (isHeld) await once(this.#released, 'release', { signal });
      await (this.#delayMs > 0
        ? setTimeout(this.#delayMs, undefined, { signal })
        : setImmediate(undefined, { signal }));
    } catch {
      // The timers reject with their own AbortError; the contract asks for the signal's reason.
      signal.throwIfAborted();
    }
  }
}

/** Depends on the prompt's first and last token, and on its length. */
export function fakeReading(promptTokenIds: Int32Array, readout: Readout): Float32Array {
  const { length } = promptTokenIds;
  const [first = 0, last = 0] = [promptTokenIds[0], promptTokenIds.at(-1)];
  if (readout.kind === 'hidden') return Float32Array.of(1 + first, 1 + last, length, 1);
  return Float32Array.from(readout.tokenIds, (id) => ((first + last + length) % (id + 2)) - 1);
}

/** Logprob of a token, whatever the request: the higher its id, the less likely. */
export function fakeLogprob(tokenId: number): number {
  return -(tokenId + 1) / 8;
}

/** The tokens at consecutive positions, with the `numTop` lowest ids as the likeliest. */
function fakeLogprobs(tokenIds: Iterable<number>, numTop: number): Logprobs {
  const top = Array.from({ length: numTop }, (_, id) => id);
  const rows = Array.from(tokenIds, (tokenId) => [tokenId, ...top]).flat();
  return {
    tokenIds: Int32Array.from(rows),
    logprobs: Float32Array.from(rows, fakeLogprob),
    ranks: Int32Array.from(tokenIds, (tokenId) => tokenId + 1),
  };
}

function withLogprobs(batch: TokenBatch, { logprobs }: Request): TokenBatch {
  if (logprobs === null) return batch;
  return { ...batch, logprobs: batch.tokenIds.map((id) => fakeLogprobs([id], logprobs)) };
}
