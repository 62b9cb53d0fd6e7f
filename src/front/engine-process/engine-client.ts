import type { EngineRequest } from '../../engine/request.ts';
import type { SlotState } from '../../engine/slot-state.ts';
import type { EngineStats } from '../../engine/stats.ts';
import type { EngineInfo, EngineMessage, EngineOptions } from '../../engine/process/protocol.ts';
import { coalesced } from './coalesced.ts';
import { CrashBreaker } from './crash-breaker.ts';
import {
  type Engine,
  EngineError,
  type EngineState,
  EngineUnavailableError,
  IDLE_STATS,
  type StepListener,
  type TokenBatch,
} from './engine-contract.ts';
import { EngineLauncher } from './engine-launcher.ts';
import type { EngineClientOptions } from './engine-client-options.ts';
import type { EngineHandle, EngineProcessEvents } from './engine-process.ts';
import { LiveRequests } from './live-requests.ts';
import { sendRequests } from './send-requests.ts';
import { SlotInquiries } from './slot-inquiries.ts';
import { StepDelivery } from './step-delivery.ts';
import { StepWatch } from './step-watch.ts';

/** How often the watchdog looks. */
const WATCH_MS = 500;
const STOP_TIMEOUT_MS = 2000;

/**
 * The engine in its own process. If it dies, a new one takes its place and unfinished requests
 * continue where they stopped: they are submitted again with the tokens they already have. Sampling
 * is a function of seed and position, so the text continues unchanged. They fail with an error only
 * when one of them is found to crash the engine (see LiveRequests), or when the engine does not
 * come back: during pauses of the circuit breaker they wait, and only new requests are rejected.
 */
export class EngineClient implements Engine {
  readonly #clientOptions: EngineClientOptions;
  readonly #breaker = new CrashBreaker();
  readonly #live = new LiveRequests();
  readonly #launcher: EngineLauncher;
  readonly #inquiries = new SlotInquiries();
  readonly #delivery = new StepDelivery(this.#live, this.#breaker);
  readonly #watchers = new StepWatch(
    (command) => this.#state === 'ready' && this.#process?.send(command),
    (id) => this.#live.get(id)?.request,
  );
  readonly #listeners = new Set<(stats: EngineStats) => void>();
  #options: EngineOptions | undefined;
  #process: EngineHandle | undefined;
  #state: EngineState = 'starting';
  #info: EngineInfo | undefined;
  #stats: EngineStats = IDLE_STATS;
  #nextId = 1;
  #numCrashes = 0;
  /** When the engine last said something, or was given work while idle. */
  #heardAt = 0;
  #watchdog: NodeJS.Timeout | undefined;
  /** Fires when the breaker half-opens. */
  #pause: NodeJS.Timeout | undefined;
  #retryAt = 0;
  /** Why the process ends, if it said so. */
  #lastWords: string | undefined;
  /** Requests that ended before the engine ended them. */
  readonly #aborted: number[] = [];
  /** The choices of a request come one by one, at once. */
  readonly #handOver = coalesced(() => this.#handOverAll());
  #started: { resolve(): void; reject(error: Error): void } | undefined;

  constructor(options: EngineClientOptions = {}) {
    this.#clientOptions = options;
    this.#launcher = new EngineLauncher(options.spawn);
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

  get instances(): readonly [this] {
    return [this];
  }

  get silentMs(): number {
    const hasWork = this.#state === 'ready' && this.#live.size > 0;
    return hasWork ? performance.now() - this.#heardAt : 0;
  }

  /** Of the engine process, for tests and logs. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  inspect(): Promise<readonly SlotState[]> {
    return this.#inquiries.ask(this.#state === 'ready' ? this.#process : undefined);
  }

  onStep(listener: (stats: EngineStats) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  watchSteps(listener: StepListener, every: number): () => void {
    return this.#watchers.add(listener, every);
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
    this.#launch(options);
    await started;
  }

  /** Ends the process; requests still under way fail. */
  async stop(): Promise<void> {
    this.#become('stopped');
    clearInterval(this.#watchdog);
    clearTimeout(this.#pause);
    this.#live.failAll(new EngineError('the engine was stopped'));
    await this.#process?.stop(STOP_TIMEOUT_MS);
    this.#launcher.close();
  }

  generate(
    request: Omit<EngineRequest, 'id'>,
    signal: AbortSignal,
  ): AsyncIterableIterator<TokenBatch, void> {
    signal.throwIfAborted();
    this.#requireAvailable();
    const id = this.#nextId++;
    if (this.#live.size === 0) this.#heardAt = performance.now();
    const { stream } = this.#live.add({ ...request, id });
    const abort = () => stream.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    stream.onEnd = () => {
      signal.removeEventListener('abort', abort);
      this.#end(id);
    };
    this.#handOver();
    return stream;
  }

  #launch(options: EngineOptions): void {
    const events: EngineProcessEvents = {
      onMessage: (message) => {
        if (engineProcess === this.#process) this.#receive(message);
      },
      onExit: (description) => {
        if (engineProcess === this.#process) this.#exited(this.#lastWords ?? description);
      },
    };
    this.#lastWords = undefined;
    let engineProcess: EngineHandle | undefined;
    try {
      engineProcess = this.#launcher.launch(options, events);
    } catch (error) {
      setImmediate(() => this.#exited(String(error)));
    }
    this.#process = engineProcess;
  }

  #ready(info: EngineInfo): void {
    this.#info = info;
    this.#become('ready');
    this.#watchers.started();
    this.#heardAt = performance.now();
    if (this.#process) this.#launcher.keep(this.#process, info.sharedMemoryFd);
    this.#process?.send({ type: 'resume', requests: this.#live.handOver() });
    this.#started?.resolve();
  }

  /** While the engine is not ready requests are only kept: readiness hands them over. */
  #handOverAll(): void {
    const ids = this.#aborted.splice(0);
    if (this.#state !== 'ready') return;
    if (ids.length > 0) this.#process?.send({ type: 'abort', ids });
    const live = this.#live;
    sendRequests(this.#process, live.handOver(), ({ id }, error) => live.fail(id, error));
  }

  /** Of a request that the engine has not ended by itself. */
  #end(id: number): void {
    if (!this.#live.delete(id)) return;
    this.#aborted.push(id);
    this.#handOver();
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
      case 'slots':
        this.#inquiries.answered(message.slots);
        break;
      case 'blocks':
        this.#clientOptions.blocks?.changed(message.events);
        break;
      case 'step':
        this.#heardAt = performance.now();
        this.#stats = message.stats;
        if (message.record) this.#watchers.stepped(message.record);
        this.#delivery.deliver(message);
        this.#handOver();
        for (const listener of this.#listeners) listener(message.stats);
        break;
    }
  }

  #exited(description: string): void {
    this.#clientOptions.blocks?.cleared();
    if (this.#state === 'stopped' || this.#state === 'failed') return;
    this.#numCrashes++;
    this.#clientOptions.onCrash?.(description, this.#live.size);
    if (this.#state === 'starting') {
      this.#fail(new EngineError(`the engine process ended: ${description}`));
      return;
    }
    for (const { stream } of this.#live.crashed()) {
      stream.fail(new EngineError('the engine crashed again and again on this request'));
      // The request that made it crash is gone.
      this.#breaker.progressed();
    }
    const pauseMs = this.#breaker.crashed();
    if (pauseMs > 0) this.#pauseFor(pauseMs);
    else this.#recover();
  }

  #recover(): void {
    this.#become('recovering');
    if (this.#options) this.#launch(this.#options);
  }

  /** Opens the breaker: nothing new is accepted until it is worth another try. */
  #pauseFor(pauseMs: number): void {
    this.#become('failed');
    const error = new EngineUnavailableError(pauseMs / 1000);
    for (const { stream } of this.#live.paused()) stream.fail(error);
    this.#retryAt = performance.now() + pauseMs;
    this.#pause = setTimeout(() => this.#recover(), pauseMs);
  }

  /** At the first start another try is no use; later the machine may only be short of memory. */
  #loadFailed(message: string): void {
    if (this.#state === 'starting') {
      this.#fail(new EngineError(message));
      return;
    }
    this.#lastWords = message;
    // A process that could not load stays, idle.
    this.#process?.kill();
  }

  #watch(stepTimeoutMs: number): void {
    if (this.silentMs > stepTimeoutMs) this.#process?.kill();
  }

  #requireAvailable(): void {
    if (this.#state === 'stopped') throw new EngineError('the engine was stopped');
    if (this.#state !== 'failed') return;
    throw new EngineUnavailableError((this.#retryAt - performance.now()) / 1000);
  }

  #become(state: EngineState): void {
    this.#state = state;
    this.#watchers.became(state, this.#live.size);
  }

  #fail(error: EngineError): void {
    this.#become('failed');
    this.#started?.reject(error);
    this.#live.failAll(error);
  }
}
