import type {
  EncoderCommand,
  EncoderInfo,
  EncoderInput,
  EncoderMessage,
  EncoderOptions,
  EncoderOutcome,
  SentTensor,
} from '../../encoder/process/protocol.ts';
import { LIMITS } from '../../limits.ts';
import type { TensorValue } from '../../encoder/tensors/tensor.ts';
import { type ChildEvents, ChildModule } from '../../threads/child-module.ts';
import type { Outcome } from '../batching/batcher-options.ts';
import { DescriptorReserve } from '../engine-process/descriptor-reserve.ts';
import { type EngineState } from '../engine-process/engine-contract.ts';
import { EngineError } from '../engine-process/errors.ts';
import { SupervisedProcess } from '../engine-process/supervised-process.ts';
import { watchMemory } from '../../threads/memory-watch.ts';
import { yieldCores } from '../../threads/yield-cores.ts';
import { ReceivedTensors } from '../../encoder/process/received-tensors.ts';
import { InputSender } from './input-sender.ts';
import { type Pending, pending } from './pending.ts';

const ENTRY = new URL('../../encoder/process/main.js', import.meta.url);

/** Crashes after which a request fails: during all but the first it ran alone. */
const MAX_CRASHES = 4;
/** Pauses of the circuit breaker that a request waits through. */
const MAX_PAUSES = 3;

export type EncoderOutput = readonly TensorValue[];

export type EncoderEvents = ChildEvents<EncoderMessage>;
export type EncoderHandle = Pick<
  ChildModule<EncoderCommand, EncoderMessage>,
  'pid' | 'kill' | 'send' | 'stop'
>;
export type SpawnEncoder = (events: EncoderEvents) => EncoderHandle;

export interface EncoderClientOptions {
  /** Called when the process ends unasked. */
  readonly onCrash?: (description: string) => void;
  /** A process that takes longer over a batch hangs: it is killed. */
  readonly runTimeoutMs: number;
  /** Whether other processes go first where cores are short; false if left out. */
  readonly yieldsCores?: boolean;
  /** Starts a process; for tests. */
  readonly spawn?: SpawnEncoder;
}

/**
 * An encoder in a process of its own. When that dies, a new one takes its place. What it was running
 * is run again, each request by itself, so that one that crashes the process again and again is the
 * only one that fails.
 */
export class EncoderClient {
  readonly #options: EncoderClientOptions;
  readonly #process: SupervisedProcess<EncoderHandle, EncoderMessage>;
  #encoder: EncoderOptions | undefined;
  #info: EncoderInfo | undefined;
  #numPauses = 0;
  #ready = pending<void>();
  /** The batch that the process has; null in place of outcomes when it crashes. */
  #running: Pending<readonly EncoderOutcome[] | null> | undefined;
  #sender: InputSender | undefined;
  #received = new ReceivedTensors();
  #isBeyondMemory = false;
  #nextId = 0;

  constructor(options: EncoderClientOptions) {
    this.#options = options;
    this.#process = new SupervisedProcess<EncoderHandle, EncoderMessage>(
      {
        launch: (events) => this.#launch(events),
        onMessage: (message) => this.#receive(message),
        onCrash: (description) => options.onCrash?.(description),
        takeBack: () => this.#takeBack(),
        onPause: (error) => this.#paused(error),
        onFail: (error) => this.#ready.reject(error),
      },
      new DescriptorReserve(),
    );
  }

  get state(): EngineState {
    return this.#process.state;
  }

  get numCrashes(): number {
    return this.#process.numCrashes;
  }

  /** Pid of the process, for tests and logs. */
  get pid(): number | undefined {
    return this.#process.handle?.pid;
  }

  get info(): EncoderInfo {
    if (!this.#info) throw new Error('the encoder has not started yet');
    return this.#info;
  }

  /** @throws EngineError when the model can't be loaded */
  async start(encoder: EncoderOptions): Promise<void> {
    this.#encoder = encoder;
    await this.#process.start();
  }

  async stop(): Promise<void> {
    const stopped = this.#process.stop();
    const error = new EngineError('the engine was stopped');
    this.#ready.reject(error);
    this.#running?.reject(error);
    this.#sender?.stop();
    await stopped;
  }

  /** @throws EngineError, EngineUnavailableError while nothing can be run */
  requireAvailable(): void {
    this.#process.requireAvailable();
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
      // The request that made it crash is gone.
      this.#process.progressed();
      const error = new EngineError('the engine crashed again and again on this request');
      return inputs.map(() => ({ type: 'failed', error }));
    }
    const outcomes = await this.#attempt(inputs);
    if (outcomes !== null) return outcomes.map(toOutcome);
    if (this.#isBeyondMemory && inputs.length === 1) {
      return [{ type: 'failed', error: new RunError('it takes too much memory') }];
    }
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
    this.#received = new ReceivedTensors();
    const watchdog = setTimeout(() => this.#process.handle?.kill(), this.#options.runTimeoutMs);
    this.#isBeyondMemory = false;
    const unwatch = this.#watchMemory();
    try {
      this.#sender = new InputSender(this.#process.handle);
      await this.#sender.send(this.#nextId++, inputs);
      return await running.promise;
    } finally {
      clearTimeout(watchdog);
      unwatch();
      this.#running = undefined;
    }
  }

  #watchMemory(): () => void {
    const { maxBytes, residentBytes } = this.info;
    if (maxBytes === null) return () => {};
    return watchMemory(this.pid, maxBytes + residentBytes + LIMITS.tensorRunBytes, () => {
      this.#isBeyondMemory = true;
      this.#process.handle?.kill();
    });
  }

  #launch(events: EncoderEvents): EncoderHandle {
    const { spawn = (all) => new ChildModule(ENTRY, all) } = this.#options;
    const launched = spawn(events);
    if (this.#options.yieldsCores === true) yieldCores(launched.pid);
    if (this.#encoder) launched.send({ type: 'start', options: this.#encoder });
    return launched;
  }

  #receive(message: EncoderMessage): void {
    switch (message.type) {
      case 'ready':
        this.#info = message.info;
        this.#numPauses = 0;
        this.#process.ready();
        this.#ready.resolve();
        break;
      case 'failed':
        this.#process.loadFailed(message.message);
        break;
      case 'more':
        this.#sender?.more();
        break;
      case 'part':
        this.#received.add(message.part);
        this.#process.handle?.send({ type: 'more' });
        break;
      case 'done':
        this.#process.progressed();
        this.#done(message.outcomes, message.lists);
        break;
    }
  }

  #done(
    outcomes: readonly EncoderOutcome[],
    lists: readonly (readonly SentTensor[])[] | null,
  ): void {
    const running = this.#running;
    if (lists === null) {
      running?.resolve(outcomes);
      return;
    }
    const filled = this.#received.take(lists).then((outputs) =>
      outcomes.map((each, index): EncoderOutcome => {
        return each.type === 'done' ? { type: 'done', output: outputs[index] ?? [] } : each;
      }),
    );
    filled.then((all) => running?.resolve(all)).catch((error) => running?.reject(error));
  }

  /** Has the requests of the process that ended run again, each by itself. */
  #takeBack(): boolean {
    if (this.state === 'ready') this.#ready = pending<void>();
    this.#running?.resolve(null);
    this.#sender?.stop();
    // If we ended it ourselves, the request was at fault: others need not wait.
    return !this.#isBeyondMemory;
  }

  #paused(error: Error): void {
    if (++this.#numPauses <= MAX_PAUSES) return;
    this.#ready.reject(error);
    this.#ready = pending<void>();
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
