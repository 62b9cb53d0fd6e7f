import { guarded } from '../../guarded.ts';
import type { ChildEvents } from '../../threads/child-module.ts';
import { CrashBreaker } from './crash-breaker.ts';
import type { DescriptorReserve } from './descriptor-reserve.ts';
import type { EngineState } from './engine-contract.ts';
import { EngineError, EngineUnavailableError } from './errors.ts';

const STOP_TIMEOUT_MS = 2000;

export interface ProcessHandle {
  readonly pid: number | undefined;
  kill(): void;
  stop(timeoutMs: number): Promise<void>;
}

/** The owner of a process: starts it, hears it, and takes its work back. */
export interface Supervision<Handle extends ProcessHandle, Message> {
  /** Starts a process. What it throws counts as the end of one. */
  launch(events: ChildEvents<Message>): Handle;
  /** Hears only the process that is there now. */
  onMessage(message: Message): void;
  /** Called whenever a process has ended, asked or unasked. */
  onExit?(): void;
  /** Told that a process ended unasked. */
  onCrash(description: string): void;
  /**
   * Takes back what the process had, since another one takes its place.
   * @returns whether the end counts as a crash of the process; if not, the next one starts at once
   */
  takeBack(): boolean;
  /** Nothing new is taken for a while: the process ended too often. */
  onPause(error: EngineUnavailableError): void;
  /** It could not be started, and will not be again. */
  onFail(error: EngineError): void;
  onState?(state: EngineState): void;
}

/**
 * A process that is started again when it dies: at once, or after a pause if it dies again and again. One
 * that could not be started the first time stays failed.
 */
export class SupervisedProcess<Handle extends ProcessHandle, Message> {
  readonly #supervision: Supervision<Handle, Message>;
  readonly #reserve: DescriptorReserve;
  readonly #breaker = new CrashBreaker();
  #handle: Handle | undefined;
  #state: EngineState = 'starting';
  #numCrashes = 0;
  /** Why the process ends, if it said so. */
  #lastWords: string | undefined;
  /** Fires when the breaker half-opens. */
  #pause: NodeJS.Timeout | undefined;
  #retryAt = 0;
  #settle: { resolve(): void; reject(error: Error): void } | undefined;

  /** @param reserve what a process takes to be started */
  constructor(supervision: Supervision<Handle, Message>, reserve: DescriptorReserve) {
    this.#supervision = supervision;
    this.#reserve = reserve;
    reserve.fill();
  }

  get state(): EngineState {
    return this.#state;
  }

  get numCrashes(): number {
    return this.#numCrashes;
  }

  /** The process that is there now; undefined before the first, and where none could be started. */
  get handle(): Handle | undefined {
    return this.#handle;
  }

  /** @returns once it is ready. @throws EngineError when it can't be started, or is stopped before */
  start(): Promise<void> {
    const started = new Promise<void>((resolve, reject) => (this.#settle = { resolve, reject }));
    this.#launch();
    return started;
  }

  async stop(): Promise<void> {
    this.#become('stopped');
    clearTimeout(this.#pause);
    this.#settle?.reject(new EngineError('the engine was stopped'));
    await this.#handle?.stop(STOP_TIMEOUT_MS);
    this.#reserve.release();
  }

  /** The process has said that it takes work. */
  ready(): void {
    this.#become('ready');
    this.#reserve.fill();
    this.#settle?.resolve();
  }

  /** The process has said that it cannot: the first time for good, later perhaps for want of memory. */
  loadFailed(reason: string): void {
    if (this.#state === 'starting') this.#fail(new EngineError(reason));
    this.#lastWords = reason;
    // A process that could not load stays, idle.
    this.#handle?.kill();
  }

  /** The process has said why it will end. */
  dying(reason: string): void {
    this.#lastWords = reason;
  }

  /** The process does its work: crashes before do not count any more. */
  progressed(): void {
    this.#breaker.progressed();
  }

  /** @throws EngineError, EngineUnavailableError while nothing is taken */
  requireAvailable(): void {
    if (this.#state === 'stopped') throw new EngineError('the engine was stopped');
    if (this.#state !== 'failed') return;
    throw new EngineUnavailableError((this.#retryAt - performance.now()) / 1000);
  }

  #launch(): void {
    this.#lastWords = undefined;
    let launched: Handle | undefined;
    const onMessage = guarded(
      (message: Message) => {
        if (launched === this.#handle) this.#supervision.onMessage(message);
      },
      (error) => {
        // Work may be lost with the message: the next process goes on from what is here.
        launched?.kill();
        throw error;
      },
    );
    const onExit = (description: string): void => {
      if (launched === this.#handle) this.#exited(this.#lastWords ?? description);
    };
    try {
      launched = this.#reserve.lend(() => this.#supervision.launch({ onMessage, onExit }));
    } catch (error) {
      setImmediate(() => this.#exited(String(error)));
    }
    this.#handle = launched;
  }

  #exited(description: string): void {
    const supervision = this.#supervision;
    supervision.onExit?.();
    if (this.#state === 'stopped' || this.#state === 'failed') return;
    this.#numCrashes++;
    supervision.onCrash(description);
    if (this.#state === 'starting') {
      this.#fail(new EngineError(`the engine process ended: ${description}`));
      return;
    }
    const pauseMs = supervision.takeBack() ? this.#breaker.crashed() : 0;
    if (pauseMs > 0) this.#pauseFor(pauseMs);
    else this.#recover();
  }

  #recover(): void {
    this.#become('recovering');
    this.#launch();
  }

  /** Opens the breaker until it is worth another try. */
  #pauseFor(pauseMs: number): void {
    this.#become('failed');
    this.#retryAt = performance.now() + pauseMs;
    this.#supervision.onPause(new EngineUnavailableError(pauseMs / 1000));
    this.#pause = setTimeout(() => this.#recover(), pauseMs);
  }

  #fail(error: EngineError): void {
    this.#become('failed');
    this.#settle?.reject(error);
    this.#supervision.onFail(error);
  }

  #become(state: EngineState): void {
    this.#state = state;
    this.#supervision.onState?.(state);
  }
}
