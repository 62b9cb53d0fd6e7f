import {
  checkInputs,
  checkOutputs,
  type GraphSignature,
  TensorError,
} from '../../encoder/tensors/signature.ts';
import { requireOutputBytes } from './output-bytes.ts';
import type { TensorValue } from '../../encoder/tensors/tensor.ts';
import type { BatcherStats } from '../batching/batcher-stats.ts';
import type { Caller } from '../caller.ts';
import { requireComputable } from '../not-cached-error.ts';
import type { EngineState } from '../engine-process/engine-contract.ts';
import { EncoderEngine, type EncoderEngineOptions } from '../encoder-process/encoder-engine.ts';
import type { Priorities } from './triton-config.ts';

export interface InferOptions {
  /** Names of the outputs that are wanted; all if left out. */
  readonly outputs?: readonly string[] | null;
  /** Lower goes first. */
  readonly priority?: number;
  /** Milliseconds that the request may wait. */
  readonly timeoutMs?: number | null;
}

export interface TensorModelOptions extends EncoderEngineOptions {
  /** The priorities that requests can ask for; any if null or left out. */
  readonly priorities?: Priorities | null;
}

/** Any ONNX model without state: tensors in, tensors out, in batches. */
export class TensorModel {
  readonly kind = 'tensors';
  readonly #engine: EncoderEngine;
  /** Rows that a request may have. */
  readonly maxBatchSize: number;
  readonly #priorities: Priorities | null;

  constructor({ priorities = null, ...options }: TensorModelOptions) {
    this.#priorities = priorities;
    this.#engine = new EncoderEngine(options);
    this.maxBatchSize = options.batching.maxBatchSize;
  }

  get state(): EngineState {
    return this.#engine.state;
  }

  /** Known once it has started. */
  get signature(): GraphSignature {
    return this.#engine.info.signature;
  }

  get stats(): BatcherStats {
    return this.#engine.stats;
  }

  get numCrashes(): number {
    return this.#engine.numCrashes;
  }

  get pids(): readonly (number | undefined)[] {
    return this.#engine.pids;
  }

  /** Memory of the model's processes, once they have started. */
  get memoryBytes(): number {
    return this.#engine.residentBytes;
  }

  /** @throws EngineError when the model can't be loaded, or served */
  async start(): Promise<void> {
    await this.#engine.start();
  }

  close(): void {
    this.#engine.close();
  }

  async stop(): Promise<void> {
    await this.#engine.stop();
  }

  /**
   * @throws TensorError when the inputs are not what the graph takes, before anything is queued;
   *   RunError when they make the graph fail; QueueFullError, BatchTimeoutError, EngineError,
   *   ShuttingDownError; the signal's reason on abort
   */
  async infer(
    tensors: readonly TensorValue[],
    { outputs = null, priority: wantedPriority = 0, timeoutMs = null }: InferOptions,
    caller: Caller,
  ): Promise<readonly TensorValue[]> {
    requireComputable(caller);
    const { signature } = this;
    const wanted = checkOutputs(signature, outputs);
    const priority = this.#priorityOf(wantedPriority);
    const { rows, bytes, shape, sizes } = checkInputs(signature, tensors, this.maxBatchSize);
    const outputBytes = requireOutputBytes(signature, wanted, { rows, sizes });
    const [made = []] = await this.#engine.submit(
      [
        {
          input: { type: 'tensors', tensors, rows, outputs: wanted },
          // A request that can't be batched has a batch of its own.
          rows: signature.isBatched ? rows : this.maxBatchSize,
          tokens: 0,
          bytes: bytes + outputBytes,
          shape,
          priority,
          timeoutMs,
        },
      ],
      caller,
    );
    return wanted.flatMap((name) => made.filter((tensor) => tensor.name === name));
  }

  /** @param wanted 0 for the model's default */
  #priorityOf(wanted: number): number {
    if (this.#priorities === null) return wanted;
    const { levels, default: usual } = this.#priorities;
    if (wanted >= 0 && wanted <= levels) return wanted || usual;
    throw new TensorError(`the priority is ${wanted}; the model has 1 to ${levels}`);
  }
}
