import type { EngineRequest } from '../../engine/request.ts';
import type { SlotState } from '../../engine/slot-state.ts';
import type { EngineStats } from '../../engine/stats.ts';
import type { EngineInfo, EngineMessage, EngineOptions } from '../../engine/process/protocol.ts';
import { coalesced } from './coalesced.ts';
import { DescriptorReserve } from './descriptor-reserve.ts';
import {
  type Engine,
  type EngineState,
  IDLE_STATS,
  type StepListener,
  type TokenBatch,
} from './engine-contract.ts';
import { EngineError } from './errors.ts';
import type { EngineClientOptions } from './engine-client-options.ts';
import {
  type EngineHandle,
  EngineProcess,
  type EngineProcessEvents,
  INHERITED_FD,
} from './engine-process.ts';
import { LiveRequests } from './live-requests.ts';
import { sendRequests } from './send-requests.ts';
import { SharedMemory } from './shared-memory.ts';
import { SlotInquiries } from './slot-inquiries.ts';
import { StepDelivery } from './step-delivery.ts';
import { StepListeners } from './step-listeners.ts';
import { StepWatch } from './step-watch.ts';
import { SupervisedProcess } from './supervised-process.ts';

/** How often the watchdog looks. */
const WATCH_MS = 500;

/**
 * The engine in its own process. If it dies, a new one takes its place and unfinished requests
 * continue where they stopped: they are submitted again with the tokens they already have. Sampling
 * is a function of seed and position, so the text continues unchanged. They fail with an error only
 * when one of them is found to crash the engine (see LiveRequests), or when the engine does not
 * come back: during pauses of the circuit breaker they wait, and only new requests are rejected.
 */
export class EngineClient implements Engine {
  readonly #clientOptions: EngineClientOptions;
  readonly #live = new LiveRequests();
  readonly #inquiries = new SlotInquiries();
  readonly #reserve = new DescriptorReserve();
  readonly #memory = new SharedMemory();
  readonly #process: SupervisedProcess<EngineHandle, EngineMessage>;
  readonly #delivery: StepDelivery;
  readonly #watchers = new StepWatch(
    (command) => this.state === 'ready' && this.#process.handle?.send(command),
    (id) => this.#live.get(id)?.request,
  );
  readonly #listeners = new StepListeners();
  #options: EngineOptions | undefined;
  #info: EngineInfo | undefined;
  #stats: EngineStats = IDLE_STATS;
  #nextId = 1;
  /** When the engine last said something, or was given work while idle. */
  #heardAt = 0;
  #watchdog: NodeJS.Timeout | undefined;
  /** Requests that ended before the engine ended them. */
  readonly #aborted: number[] = [];
  /** The choices of a request come one by one, at once. */
  readonly #handOver = coalesced(() => this.#handOverAll(), this.#live.failHeld);

  constructor(options: EngineClientOptions = {}) {
    this.#clientOptions = options;
    this.#process = new SupervisedProcess<EngineHandle, EngineMessage>(
      {
        launch: (events) => this.#launch(events),
        onMessage: (message) => this.#receive(message),
        onExit: () => options.blocks?.cleared(),
        onCrash: (description) => options.onCrash?.(description, this.#live.size),
        takeBack: () => this.#takeBack(),
        onPause: (error) => {
          for (const { stream } of this.#live.paused()) stream.fail(error);
        },
        onFail: (error) => this.#live.failAll(error),
        onState: (state) => this.#watchers.became(state, this.#live.size),
      },
      this.#reserve,
    );
    this.#delivery = new StepDelivery(this.#live, this.#process);
  }

  get state(): EngineState {
    return this.#process.state;
  }

  get info(): EngineInfo {
    if (!this.#info) throw new Error('the engine has not started yet');
    return this.#info;
  }

  get stats(): EngineStats {
    return this.#stats;
  }

  get numCrashes(): number {
    return this.#process.numCrashes;
  }

  get instances(): readonly [this] {
    return [this];
  }

  get silentMs(): number {
    const hasWork = this.state === 'ready' && this.#live.size > 0;
    return hasWork ? performance.now() - this.#heardAt : 0;
  }

  /** Pid of the engine process, for tests and logs. */
  get pid(): number | undefined {
    return this.#process.handle?.pid;
  }

  inspect(): Promise<readonly SlotState[]> {
    return this.#inquiries.ask(this.state === 'ready' ? this.#process.handle : undefined);
  }

  onStep(listener: (stats: EngineStats) => void): () => void {
    return this.#listeners.add(listener);
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
    const { stepTimeoutMs } = this.#clientOptions;
    if (stepTimeoutMs !== undefined) {
      this.#watchdog = setInterval(() => this.#watch(stepTimeoutMs), WATCH_MS).unref();
    }
    await this.#process.start();
  }

  /** Ends the process; requests still under way fail. */
  async stop(): Promise<void> {
    clearInterval(this.#watchdog);
    const stopped = this.#process.stop();
    this.#live.failAll(new EngineError('the engine was stopped'));
    await stopped;
    this.#memory.close();
  }

  generate(
    request: Omit<EngineRequest, 'id'>,
    signal: AbortSignal,
  ): AsyncIterableIterator<TokenBatch, void> {
    signal.throwIfAborted();
    this.#process.requireAvailable();
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

  /** @throws Error when the system has no memory for a process; most failures come as its exit */
  #launch(events: EngineProcessEvents): EngineHandle {
    const { spawn = (...args) => new EngineProcess(...args) } = this.#clientOptions;
    const { descriptor } = this.#memory;
    const launched = spawn(descriptor, events);
    const sharedMemoryFd = descriptor === undefined ? null : INHERITED_FD;
    if (this.#options) launched.send({ type: 'start', options: this.#options, sharedMemoryFd });
    return launched;
  }

  #ready(info: EngineInfo): void {
    this.#info = info;
    this.#heardAt = performance.now();
    const { handle } = this.#process;
    if (handle) this.#reserve.lend(() => this.#memory.keep(handle, info.sharedMemoryFd));
    this.#process.ready();
    this.#watchers.started();
    handle?.send({ type: 'resume', requests: this.#live.handOver() });
  }

  /** While the engine is not ready requests are only kept: readiness hands them over. */
  #handOverAll(): void {
    const ids = this.#aborted.splice(0);
    if (this.state !== 'ready') return;
    if (ids.length > 0) this.#process.handle?.send({ type: 'abort', ids });
    const live = this.#live;
    sendRequests(this.#process.handle, live.handOver(), ({ id }, error) => live.fail(id, error));
  }

  /** Ends a request that the engine has not ended by itself. */
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
        this.#process.loadFailed(message.message);
        break;
      case 'dying':
        this.#process.dying(message.message);
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
        this.#listeners.tell(message.stats);
        break;
    }
  }

  /** Submits the requests of the process that ended to the next one, but for the one that made it crash. */
  #takeBack(): boolean {
    for (const { stream } of this.#live.crashed()) {
      stream.fail(new EngineError('the engine crashed again and again on this request'));
      // The request that made it crash is gone.
      this.#process.progressed();
    }
    return true;
  }

  #watch(stepTimeoutMs: number): void {
    if (this.silentMs > stepTimeoutMs) this.#process.handle?.kill();
  }
}
