import type {
  EngineInfo,
  EngineMessage,
  EngineOptions,
  EngineRequest,
  EngineStats,
  TokenOutput,
} from '../engine/messages.ts';
import { type Engine, EngineError, type EngineState, type TokenBatch } from './engine.ts';
import { EngineProcess } from './engine-process.ts';
import { TokenStream } from './token-stream.ts';

/** A request that caused, or happened to be in, this many crashes in a row is failed. */
const MAX_CRASHES_PER_REQUEST = 2;
/** As many crashes without a single token in between mean that starting again is no use. */
const MAX_CRASHES_IN_A_ROW = 3;
const STOP_TIMEOUT_MS = 2000;

const IDLE_STATS: EngineStats = {
  numRunning: 0,
  numWaiting: 0,
  kvCacheUsage: 0,
  numSteps: 0,
  numPreemptions: 0,
  prefixCacheQueries: 0,
  prefixCacheHits: 0,
};

interface LiveRequest {
  readonly request: EngineRequest;
  readonly stream: TokenStream;
  readonly outputTokenIds: number[];
  /** Crashes since its last token. */
  crashes: number;
}

/** Told when the engine process ends unasked: how, and how many requests go on in the next one. */
export type OnCrash = (description: string, numUnfinished: number) => void;

/**
 * The engine in its own process. When that dies, a new one takes its place and unfinished requests
 * go on where they stopped: they are submitted again with the tokens they already have, and since
 * sampling is a function of seed and position, the text goes on as it would have.
 */
export class EngineClient implements Engine {
  readonly #onCrash: OnCrash | undefined;
  readonly #live = new Map<number, LiveRequest>();
  readonly #listeners = new Set<(stats: EngineStats) => void>();
  #options: EngineOptions | undefined;
  #process: EngineProcess | undefined;
  #state: EngineState = 'starting';
  #info: EngineInfo | undefined;
  #stats: EngineStats = IDLE_STATS;
  #nextId = 1;
  #crashesInARow = 0;
  #started: { resolve(): void; reject(error: Error): void } | undefined;

  constructor(onCrash?: OnCrash) {
    this.#onCrash = onCrash;
  }

  get state(): EngineState {
    return this.#state;
  }

  get info(): EngineInfo {
    if (!this.#info) throw new Error('the engine has not started yet');
    return this.#info;
  }

  get stats(): EngineStats {
    return this.#stats;
  }

  /** Of the engine process, for tests and logs. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  onStep(listener: (stats: EngineStats) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Starts the process and loads the model. Requests may be submitted before: they wait.
   * @throws EngineError when the engine can't load the model
   */
  async start(options: EngineOptions): Promise<void> {
    this.#options = options;
    const started = new Promise<void>((resolve, reject) => (this.#started = { resolve, reject }));
    this.#spawn();
    await started;
  }

  /** Ends the process; requests still under way fail. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#failAll(new EngineError('the engine was stopped'));
    await this.#process?.stop(STOP_TIMEOUT_MS);
  }

  async *generate(
    request: Omit<EngineRequest, 'id'>,
    signal: AbortSignal,
  ): AsyncGenerator<TokenBatch, void> {
    signal.throwIfAborted();
    if (this.#state === 'failed' || this.#state === 'stopped') {
      throw new EngineError(`the engine is ${this.#state}`);
    }
    const id = this.#nextId++;
    const stream = new TokenStream();
    const live = { request: { ...request, id }, stream, outputTokenIds: [], crashes: 0 };
    const abort = () => stream.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#live.set(id, live);
    // While the engine is not ready the request is only kept: readiness submits all that is live.
    if (this.#state === 'ready') this.#submit(live);
    try {
      yield* stream.batches();
    } finally {
      signal.removeEventListener('abort', abort);
      if (this.#live.delete(id)) this.#process?.send({ type: 'abort', id });
    }
  }

  #spawn(): void {
    const engineProcess = new EngineProcess({
      onMessage: (message) => {
        if (engineProcess === this.#process) this.#receive(message);
      },
      onExit: (description) => {
        if (engineProcess === this.#process) this.#exited(description);
      },
    });
    this.#process = engineProcess;
    if (this.#options) engineProcess.send({ type: 'start', options: this.#options });
  }

  #submit({ request, outputTokenIds }: LiveRequest): void {
    const resumed = { ...request, outputTokenIds: Int32Array.from(outputTokenIds) };
    this.#process?.send({ type: 'add', request: resumed });
  }

  #receive(message: EngineMessage): void {
    switch (message.type) {
      case 'ready':
        this.#info = message.info;
        this.#state = 'ready';
        this.#started?.resolve();
        for (const live of this.#live.values()) this.#submit(live);
        break;
      case 'failed':
        this.#fail(new EngineError(message.message));
        break;
      case 'step':
        this.#stats = message.stats;
        for (const output of message.outputs) this.#deliver(output);
        for (const listener of this.#listeners) listener(message.stats);
        break;
    }
  }

  #deliver({ id, tokenId, finishReason, error }: TokenOutput): void {
    const live = this.#live.get(id);
    // Aborted while its last step ran.
    if (!live) return;
    if (finishReason !== null) this.#live.delete(id);
    if (finishReason === 'error') {
      live.stream.fail(new EngineError(error ?? 'the engine failed the request'));
      return;
    }
    this.#crashesInARow = 0;
    live.crashes = 0;
    live.outputTokenIds.push(tokenId);
    live.stream.push(tokenId, finishReason);
  }

  #exited(description: string): void {
    if (this.#state === 'stopped' || this.#state === 'failed') return;
    this.#onCrash?.(description, this.#live.size);
    this.#crashesInARow += 1;
    if (this.#state === 'starting' || this.#crashesInARow >= MAX_CRASHES_IN_A_ROW) {
      this.#fail(new EngineError(`the engine process ended with ${description}`));
      return;
    }
    this.#state = 'recovering';
    for (const [id, live] of this.#live) {
      live.crashes += 1;
      if (live.crashes < MAX_CRASHES_PER_REQUEST) continue;
      this.#live.delete(id);
      live.stream.fail(new EngineError('the engine crashed twice in a row on this request'));
    }
    this.#spawn();
  }

  #fail(error: EngineError): void {
    this.#state = 'failed';
    this.#started?.reject(error);
    this.#failAll(error);
  }

  #failAll(error: EngineError): void {
    for (const { stream } of this.#live.values()) stream.fail(error);
    this.#live.clear();
  }
}
