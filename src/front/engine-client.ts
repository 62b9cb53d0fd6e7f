import { closeSync } from 'node:fs';
import type {
  EngineInfo,
  EngineMessage,
  EngineOptions,
  EngineRequest,
  EngineStats,
  TokenOutput,
} from '../engine/messages.ts';
import { CrashBreaker } from './crash-breaker.ts';
import {
  type Engine,
  EngineError,
  type EngineState,
  EngineUnavailableError,
  IDLE_STATS,
  SlowReaderError,
  type TokenBatch,
} from './engine.ts';
import { EngineProcess, INHERITED_FD } from './engine-process.ts';
import { TokenStream } from './token-stream.ts';

/** A request that caused, or happened to be in, this many crashes in a row is failed. */
const MAX_CRASHES_PER_REQUEST = 2;
/** How often the watchdog looks. */
const WATCH_MS = 500;
const STOP_TIMEOUT_MS = 2000;

interface LiveRequest {
  readonly request: EngineRequest;
  readonly stream: TokenStream;
  readonly outputTokenIds: number[];
  /** Crashes since its last token. */
  crashes: number;
}

export interface EngineClientOptions {
  /** Told when the engine process ends unasked: how or why, and how many requests are unfinished. */
  readonly onCrash?: (description: string, numUnfinished: number) => void;
  /** An engine with work that is silent for so long hangs: it is killed. Never if left out. */
  readonly stepTimeoutMs?: number;
}

/**
 * The engine in its own process. When that dies, a new one takes its place and unfinished requests
 * go on where they stopped: they are submitted again with the tokens they already have, and since
 * sampling is a function of seed and position, the text goes on as it would have.
 */
export class EngineClient implements Engine {
  readonly #clientOptions: EngineClientOptions;
  readonly #breaker = new CrashBreaker();
  readonly #live = new Map<number, LiveRequest>();
  readonly #listeners = new Set<(stats: EngineStats) => void>();
  #options: EngineOptions | undefined;
  #process: EngineProcess | undefined;
  #state: EngineState = 'starting';
  #info: EngineInfo | undefined;
  #stats: EngineStats = IDLE_STATS;
  #nextId = 1;
  #numCrashes = 0;
  /** When the engine last said something, or was given work while idle. */
  #heardAt = 0;
  #watchdog: NodeJS.Timeout | undefined;
  /** Runs out when the breaker half-opens. */
  #pause: NodeJS.Timeout | undefined;
  #retryAt = 0;
  /** Holds a durable KV cache's memory while no engine process does. */
  #sharedMemory: number | undefined;
  /** Of a process that knows why it ends. */
  #lastWords: string | undefined;
  #started: { resolve(): void; reject(error: Error): void } | undefined;

  constructor(options: EngineClientOptions = {}) {
    this.#clientOptions = options;
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

  get numCrashes(): number {
    return this.#numCrashes;
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
    const { stepTimeoutMs } = this.#clientOptions;
    if (stepTimeoutMs !== undefined) {
      this.#watchdog = setInterval(() => this.#watch(stepTimeoutMs), WATCH_MS).unref();
    }
    this.#spawn();
    await started;
  }

  /** Ends the process; requests still under way fail. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    clearInterval(this.#watchdog);
    clearTimeout(this.#pause);
    this.#failAll(new EngineError('the engine was stopped'));
    await this.#process?.stop(STOP_TIMEOUT_MS);
    this.#dropSharedMemory();
  }

  async *generate(
    request: Omit<EngineRequest, 'id'>,
    signal: AbortSignal,
  ): AsyncGenerator<TokenBatch, void> {
    signal.throwIfAborted();
    this.#requireAvailable();
    const id = this.#nextId++;
    const stream = new TokenStream();
    const live = { request: { ...request, id }, stream, outputTokenIds: [], crashes: 0 };
    const abort = () => stream.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (this.#live.size === 0) this.#heardAt = performance.now();
    this.#live.set(id, live);
    // While the engine is not ready the request is only kept: readiness submits all that is live.
    if (this.#state === 'ready') this.#process?.send({ type: 'add', request: live.request });
    try {
      yield* stream.batches();
    } finally {
      signal.removeEventListener('abort', abort);
      if (this.#live.delete(id)) this.#process?.send({ type: 'abort', id });
    }
  }

  #spawn(): void {
    const engineProcess = new EngineProcess(this.#sharedMemory, {
      onMessage: (message) => {
        if (engineProcess === this.#process) this.#receive(message);
      },
      onExit: (description) => {
        if (engineProcess === this.#process) this.#exited(this.#lastWords ?? description);
      },
    });
    this.#process = engineProcess;
    this.#lastWords = undefined;
    const sharedMemory = this.#sharedMemory === undefined ? null : INHERITED_FD;
    if (this.#options) engineProcess.send({ type: 'start', options: this.#options, sharedMemory });
  }

  #ready(info: EngineInfo): void {
    this.#info = info;
    this.#state = 'ready';
    this.#heardAt = performance.now();
    if (info.sharedMemory !== null && this.#sharedMemory === undefined) {
      this.#sharedMemory = this.#process?.openDescriptor(info.sharedMemory);
    }
    const requests = [...this.#live.values()].map(({ request, outputTokenIds }) => ({
      ...request,
      outputTokenIds: Int32Array.from(outputTokenIds),
    }));
    this.#process?.send({ type: 'resume', requests });
    this.#started?.resolve();
  }

  #receive(message: EngineMessage): void {
    switch (message.type) {
      case 'ready':
        this.#ready(message.info);
        break;
      case 'failed':
        this.#loadFailed(message.message);
        break;
      case 'dying':
        this.#lastWords = message.message;
        break;
      case 'step':
        this.#heardAt = performance.now();
        this.#stats = message.stats;
        for (const output of message.outputs) this.#deliver(output);
        for (const listener of this.#listeners) listener(message.stats);
        break;
    }
  }

  #deliver(output: TokenOutput): void {
    const { id, tokenId, finishReason, error } = output;
    const live = this.#live.get(id);
    // Aborted while its last step ran.
    if (!live) return;
    if (finishReason !== null) this.#live.delete(id);
    if (finishReason === 'error') {
      live.stream.fail(new EngineError(error ?? 'the engine failed the request'));
      return;
    }
    this.#breaker.progressed();
    live.crashes = 0;
    live.outputTokenIds.push(tokenId);
    if (live.stream.push(output)) return;
    this.#live.delete(id);
    this.#process?.send({ type: 'abort', id });
    live.stream.abort(new SlowReaderError());
  }

  #exited(description: string): void {
    if (this.#state === 'stopped' || this.#state === 'failed') return;
    this.#numCrashes++;
    this.#clientOptions.onCrash?.(description, this.#live.size);
    if (this.#state === 'starting') {
      this.#fail(new EngineError(`the engine process ended: ${description}`));
      return;
    }
    for (const [id, live] of this.#live) {
      live.crashes += 1;
      if (live.crashes < MAX_CRASHES_PER_REQUEST) continue;
      this.#live.delete(id);
      live.stream.fail(new EngineError('the engine crashed twice in a row on this request'));
    }
    const pauseMs = this.#breaker.crashed();
    if (pauseMs > 0) this.#pauseFor(pauseMs);
    else this.#recover();
  }

  #recover(): void {
    this.#state = 'recovering';
    this.#spawn();
  }

  /** Opens the breaker: nothing is accepted until it is worth another try. */
  #pauseFor(pauseMs: number): void {
    this.#fail(new EngineUnavailableError(pauseMs / 1000));
    this.#retryAt = performance.now() + pauseMs;
    this.#pause = setTimeout(() => this.#recover(), pauseMs);
  }

  /** The first time there is no use in another try; later the machine may only be short of memory. */
  #loadFailed(message: string): void {
    if (this.#state === 'starting') {
      this.#fail(new EngineError(message));
      return;
    }
    this.#lastWords = message;
    // A process that could not load stays about, idle.
    this.#process?.kill();
  }

  #watch(stepTimeoutMs: number): void {
    const isSilent = performance.now() - this.#heardAt > stepTimeoutMs;
    if (this.#state === 'ready' && this.#live.size > 0 && isSilent) this.#process?.kill();
  }

  #requireAvailable(): void {
    if (this.#state === 'stopped') throw new EngineError('the engine was stopped');
    if (this.#state !== 'failed') return;
    throw new EngineUnavailableError((this.#retryAt - performance.now()) / 1000);
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

  #dropSharedMemory(): void {
    if (this.#sharedMemory !== undefined) closeSync(this.#sharedMemory);
    this.#sharedMemory = undefined;
  }
}
