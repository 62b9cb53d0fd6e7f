import type { EncoderInfo, EncoderInput, EncoderSource } from '../../encoder/process/protocol.ts';
import type { Caller } from '../caller.ts';
import type { BatcherOptions, BatchRequest } from '../batching/batcher-options.ts';
import type { BatcherStats } from '../batching/batcher-stats.ts';
import { DynamicBatcher } from '../batching/dynamic-batcher.ts';
import { bestState, type EngineState } from '../engine-process/engine-contract.ts';
import { EngineError } from '../engine-process/errors.ts';
import { EncoderClient, type EncoderClientOptions, type EncoderOutput } from './encoder-client.ts';

export interface EncoderEngineOptions extends EncoderClientOptions {
  readonly source: EncoderSource;
  /** Intra-op threads of each instance; 0 for the number of usable cores. */
  readonly threads: number;
  readonly batching: BatcherOptions;
}

/** Instances of a model without state, each a process, that take batches of the same queue. */
export class EncoderEngine {
  readonly #options: EncoderEngineOptions;
  readonly #clients: readonly EncoderClient[];
  readonly #idle: EncoderClient[];
  readonly #batcher: DynamicBatcher<EncoderInput, EncoderOutput>;

  constructor(options: EncoderEngineOptions) {
    this.#options = options;
    const { instances } = options.batching;
    this.#clients = Array.from({ length: instances }, () => new EncoderClient(options));
    this.#idle = [...this.#clients];
    this.#batcher = new DynamicBatcher(options.batching, (inputs) => this.#run(inputs));
  }

  /** The best of its instances'. */
  get state(): EngineState {
    return bestState(this.#clients.map(({ state }) => state));
  }

  get info(): EncoderInfo {
    return this.#clients[0]?.info ?? unknownInfo();
  }

  get stats(): BatcherStats {
    return this.#batcher.stats;
  }

  get numCrashes(): number {
    return this.#clients.reduce((sum, { numCrashes }) => sum + numCrashes, 0);
  }

  /** Pids of the processes, for tests and logs. */
  get pids(): readonly (number | undefined)[] {
    return this.#clients.map(({ pid }) => pid);
  }

  /** Resident bytes of all instances, once they have loaded the model. */
  get residentBytes(): number {
    return this.info.residentBytes * this.#clients.length;
  }

  /** @throws EngineError when the model can't be loaded */
  async start(): Promise<void> {
    const { source, threads } = this.#options;
    // One after the other: the first one builds the graph that the others find.
    for (const client of this.#clients) await client.start({ source, threads });
  }

  /** Refuses new requests; those that wait are run until `stop`. */
  close(): void {
    this.#batcher.close();
  }

  async stop(): Promise<void> {
    this.#batcher.fail(new EngineError('the engine was stopped'));
    await Promise.all(this.#clients.map((client) => client.stop()));
  }

  /** See DynamicBatcher.prepare. @throws also EngineError, EngineUnavailableError */
  prepare(numRequests: number, bytes: number, client: string): () => void {
    this.#requireAvailable();
    return this.#batcher.prepare(numRequests, bytes, client);
  }

  /** See DynamicBatcher.submit. @throws also EngineError, EngineUnavailableError, RunError */
  async submit(
    requests: readonly BatchRequest<EncoderInput>[],
    caller: Caller,
  ): Promise<EncoderOutput[]> {
    this.#requireAvailable();
    return await this.#batcher.submit(requests, caller);
  }

  #requireAvailable(): void {
    if (this.state === 'failed' || this.state === 'stopped') this.#clients[0]?.requireAvailable();
  }

  async #run(inputs: readonly EncoderInput[]) {
    // One that works goes before one that is being replaced.
    const ready = this.#idle.findIndex(({ state }) => state === 'ready');
    const [client] = this.#idle.splice(Math.max(0, ready), 1);
    if (!client) throw new Error('no instance is free');
    try {
      return await client.run(inputs);
    } finally {
      this.#idle.push(client);
    }
  }
}

function unknownInfo(): never {
  throw new Error('the encoder has no instances');
}
