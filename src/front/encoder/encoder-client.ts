import type {
  EncoderCommand,
  EncoderInfo,
  EncoderInput,
  EncoderMessage,
  EncoderOptions,
  EncoderOutcome,
} from '../../encoder/process/protocol.ts';
import type { TensorValue } from '../../encoder/tensors/tensor.ts';
import { type ChildEvents, ChildModule } from '../../threads/child-module.ts';
import type { Outcome } from '../batching/batcher-options.ts';
import { CrashBreaker } from '../engine-process/crash-breaker.ts';
import { DescriptorReserve } from '../engine-process/descriptor-reserve.ts';
import {
  EngineError,
  type EngineState,
  EngineUnavailableError,
} from '../engine-process/engine-contract.ts';

const ENTRY = new URL('../../encoder/process/main.js', import.meta.url);
const STOP_TIMEOUT_MS = 2000;

/** With so many crashes a request is failed: all but the first were its own. */
const MAX_CRASHES = 4;
/** A request waits through so many pauses of the circuit breaker. */
const MAX_PAUSES = 3;

export type EncoderOutput = readonly TensorValue[];

export type EncoderEvents = ChildEvents<EncoderMessage>;
export type EncoderHandle = Pick<
  ChildModule<EncoderCommand, EncoderMessage>,
  'pid' | 'kill' | 'send' | 'stop'
>;
export type SpawnEncoder = (events: EncoderEvents) => EncoderHandle;

export interface EncoderClientOptions {
  /** Told when the process ends unasked. */
  readonly onCrash?: (description: string) => void;
  /** A process that takes longer over a batch hangs: it is killed. */
  readonly runTimeoutMs: number;
  /** Starts a process; for tests. */
  readonly spawn?: SpawnEncoder;
}

/** What waits for the process: to be ready, or to be done. */
interface Pending<Result> {
  readonly promise: Promise<Result>;
  resolve(result: Result): void;
  reject(error: Error): void;
}

/**
 * An encoder in a process of its own. When that dies, a new one takes its place. What it was running
 * is run again, each request by itself, so that one that crashes the process again and again is the
 * only one that fails.
 */
export class EncoderClient {
  readonly #options: EncoderClientOptions;
  readonly #spawn: SpawnEncoder;
  readonly #breaker = new CrashBreaker();
  readonly #reserve = new DescriptorReserve();
  #encoder: EncoderOptions | undefined;
  #process: EncoderHandle | undefined;
  #state: EngineState = 'starting';
  #info: EncoderInfo | undefined;
  #numCrashes = 0;
  #numPauses = 0;
  #ready = pending<void>();
  /** The batch that the process has; null in place of outcomes when it crashes. */
  #running: Pending<readonly EncoderOutcome[] | null> | undefined;
  #nextId = 0;
  #pause: NodeJS.Timeout | undefined;
  #retryAt = 0;

  constructor(options: EncoderClientOptions) {
    this.#options = options;
    this.#spawn = options.spawn ?? ((events) => new ChildModule(ENTRY, events));
    this.#reserve.fill();
  }

  get state(): EngineState {
    return this.#state;
  }

  get numCrashes(): number {
    return this.#numCrashes;
  }

  /** Of the process, for tests and logs. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get info(): EncoderInfo {
    if (!this.#info) throw new Error('the encoder has not started yet');
    return this.#info;
  }

  /** @throws EngineError when the model can't be loaded */
  async start(encoder: EncoderOptions): Promise<void> {
    this.#encoder = encoder;
    this.#launch(encoder);
    await this.#ready.promise;
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    clearTimeout(this.#pause);
    const error = new EngineError('the engine was stopped');
    this.#ready.reject(error);
    this.#running?.reject(error);
    await this.#process?.stop(STOP_TIMEOUT_MS);
    this.#reserve.release();
  }

  /** @throws EngineError, EngineUnavailableError while nothing can be run */
  requireAvailable(): void {
    if (this.#state === 'stopped') throw new EngineError('the engine was stopped');
    if (this.#state !== 'failed') return;
    throw new EngineUnavailableError((this.#retryAt - performance.now()) / 1000);
  }

  /**
   * Runs a batch; the next one must wait for it.
   * @throws EngineError when the process does not come back
   */
  async run(
    inputs: readonly EncoderInput[],
    crashes = 0,
  ): Promise<readonly Outcome<EncoderOutput>[]> {
    if (crashes >= MAX_CRASHES) {
      // What made it crash is gone.
      this.#breaker.progressed();
      const error = new EngineError('the engine crashed again and again on this request');
      return inputs.map(() => ({ type: 'failed', error }));
    }
    const outcomes = await this.#attempt(inputs);
    if (outcomes !== null) return outcomes.map(toOutcome);
    if (inputs.length === 1) return await this.run(inputs, crashes + 1);
    const again: Outcome<EncoderOutput>[] = [];
    for (const input of inputs) again.push(...(await this.run([input], crashes + 1)));
    return again;
  }

  /** @returns null when the process crashed */
  async #attempt(inputs: readonly EncoderInput[]): Promise<readonly EncoderOutcome[] | null> {
    await this.#ready.promise;
    const running = pending<readonly EncoderOutcome[] | null>();
    this.#running = running;
    const watchdog = setTimeout(() => this.#process?.kill(), this.#options.runTimeoutMs);
    this.#process?.send({ type: 'run', id: this.#nextId++, inputs });
    try {
      return await running.promise;
    } finally {
      clearTimeout(watchdog);
      this.#running = undefined;
    }
  }

  #launch(options: EncoderOptions): void {
    let launched: EncoderHandle | undefined;
    const events: EncoderEvents = {
      onMessage: (message) => {
        if (launched === this.#process) this.#receive(message);
      },
      onExit: (description) => {
        if (launched === this.#process) this.#exited(description);
      },
    };
    try {
      launched = this.#reserve.lend(() => this.#spawn(events));
      launched.send({ type: 'start', options });
    } catch (error) {
      setImmediate(() => this.#exited(String(error)));
    }
    this.#process = launched;
  }

  #receive(message: EncoderMessage): void {
    switch (message.type) {
      case 'ready':
        this.#info = message.info;
        this.#state = 'ready';
        this.#numPauses = 0;
        this.#reserve.fill();
        this.#ready.resolve();
        break;
      case 'failed':
        // Later the machine may only be short of memory, or the disk full.
        if (this.#state === 'starting') this.#fail(new EngineError(message.message));
        this.#process?.kill();
        break;
      case 'done':
        this.#breaker.progressed();
        this.#running?.resolve(message.outcomes);
        break;
    }
  }

  #exited(description: string): void {
    if (this.#state === 'stopped' || this.#state === 'failed') return;
    this.#numCrashes++;
    this.#options.onCrash?.(description);
    if (this.#state === 'starting') {
      this.#fail(new EngineError(`the engine process ended: ${description}`));
      return;
    }
    if (this.#state === 'ready') this.#ready = pending<void>();
    this.#running?.resolve(null);
    const pauseMs = this.#breaker.crashed();
    if (pauseMs > 0) this.#pauseFor(pauseMs);
    else this.#recover();
  }

  #recover(): void {
    this.#state = 'recovering';
    if (this.#encoder) this.#launch(this.#encoder);
  }

  #pauseFor(pauseMs: number): void {
    this.#state = 'failed';
    this.#retryAt = performance.now() + pauseMs;
    if (++this.#numPauses > MAX_PAUSES) {
      this.#ready.reject(new EngineUnavailableError(pauseMs / 1000));
      this.#ready = pending<void>();
    }
    this.#pause = setTimeout(() => this.#recover(), pauseMs);
  }

  #fail(error: EngineError): void {
    this.#state = 'failed';
    this.#ready.reject(error);
  }
}

function toOutcome(outcome: EncoderOutcome): Outcome<EncoderOutput> {
  if (outcome.type === 'done') return outcome;
  return { type: 'failed', error: new RunError(outcome.message) };
}

/** The model failed a request, by what is in its inputs: ONNX Runtime's message says why. */
export class RunError extends Error {
  override readonly name = 'RunError';
}

function pending<Result>(): Pending<Result> {
  let resolve: Pending<Result>['resolve'] = () => {};
  let reject: Pending<Result>['reject'] = () => {};
  const promise = new Promise<Result>((...both) => ([resolve, reject] = both));
  // Nobody may be waiting when it fails.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
