import type { EngineRequest } from '../../engine/request.ts';
import type { EngineInfo, EngineOptions } from '../../engine/process/protocol.ts';
import type { SlotState } from '../../engine/slot-state.ts';
import type { EngineStats } from '../../engine/stats.ts';
import { EngineClient } from './engine-client.ts';
import type { EngineClientOptions } from './engine-client-options.ts';
import {
  bestState,
  type BlockListener,
  type Engine,
  type EngineState,
  IDLE_STATS,
  type StepListener,
  type TokenBatch,
} from './engine-contract.ts';
import { PrefixAffinity } from './prefix-affinity.ts';

/**
 * An instance that may have the prompt cached is preferred while it has at most this many more requests
 * than the least busy one.
 */
const AFFINITY_SLACK = 2;

interface Instance {
  readonly client: EngineClient;
  /** Each moves a request away. */
  readonly movable: Set<AbortController>;
  numRequests: number;
}

/**
 * Several engine processes of one model, of which each request gets one: the least busy, or one that
 * has computed a prompt which began alike. When one crashes, its requests go on in another, with the
 * tokens they have: the text is the same. A request moves once; where it crashes a second process, it
 * is for that process's client to say which request is to blame.
 */
export class EngineInstances implements Engine {
  readonly #instances: readonly Instance[];
  readonly #affinity = new PrefixAffinity<Instance>();

  /**
   * @param count at least 1
   * @param blocksOf who hears of an instance's blocks
   */
  constructor(
    count: number,
    options: EngineClientOptions = {},
    blocksOf?: (index: number) => BlockListener | undefined,
  ) {
    this.#instances = Array.from({ length: count }, (_, index): Instance => {
      const instance: Instance = {
        client: new EngineClient({
          ...options,
          blocks: blocksOf?.(index),
          onCrash: (description, numUnfinished) => {
            options.onCrash?.(description, numUnfinished);
            this.#moveFrom(instance);
          },
        }),
        movable: new Set(),
        numRequests: 0,
      };
      return instance;
    });
  }

  /** State of the instance that is best off. */
  get state(): EngineState {
    return bestState(this.#clients.map(({ state }) => state));
  }

  /** Info of all instances together. */
  get info(): EngineInfo {
    const infos = this.#clients.map(({ info }) => info);
    const [first] = infos;
    if (first === undefined) throw new Error('there are no instances');
    return {
      ...first,
      numSlots: sum(infos, ({ numSlots }) => numSlots),
      maxNumSeqs: sum(infos, ({ maxNumSeqs }) => maxNumSeqs),
      kvCacheBytes: sum(infos, ({ kvCacheBytes }) => kvCacheBytes),
      kvCacheTokens: sum(infos, ({ kvCacheTokens }) => kvCacheTokens),
      threads: sum(infos, ({ threads }) => threads),
    };
  }

  /** Sums, the average share of the KV cache, and the folder that all share. */
  get stats(): EngineStats {
    const all = this.#clients.map(({ stats }) => stats);
    const names = Object.keys(IDLE_STATS) as (keyof EngineStats)[];
    const total = (name: keyof EngineStats) => sum(all, (stats) => stats[name]);
    const sums = Object.fromEntries(names.map((name) => [name, total(name)])) as Record<
      keyof EngineStats,
      number
    >;
    // All have the same folder.
    const largest = (name: keyof EngineStats) => Math.max(...all.map((stats) => stats[name]));
    return {
      ...sums,
      kvCacheUsage: sums.kvCacheUsage / all.length,
      prefixTierFolderBytes: largest('prefixTierFolderBytes'),
      prefixTierFolderBlocks: largest('prefixTierFolderBlocks'),
    };
  }

  get numCrashes(): number {
    return sum(this.#clients, ({ numCrashes }) => numCrashes);
  }

  /** The longest. */
  get silentMs(): number {
    return Math.max(...this.#clients.map(({ silentMs }) => silentMs));
  }

  /** Pids of the engine processes, for tests and logs. */
  get pids(): readonly (number | undefined)[] {
    return this.#clients.map(({ pid }) => pid);
  }

  /** Slots of all instances that answer, numbered through. */
  async inspect(): Promise<readonly SlotState[]> {
    const answers = await Promise.allSettled(this.#clients.map((client) => client.inspect()));
    const slots = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    return slots.map((state, slot) => ({ ...state, slot }));
  }

  onStep(listener: (stats: EngineStats) => void): () => void {
    const stops = this.#clients.map((client) => client.onStep(listener));
    return () => {
      for (const stop of stops) stop();
    };
  }

  watchSteps(listener: StepListener, every: number): () => void {
    const stops = this.#clients.map((client, instance) =>
      client.watchSteps(
        {
          stepped: (record, requestOf) => listener.stepped(record, requestOf, instance),
          became: (state, numUnfinished) => listener.became(state, numUnfinished, instance),
        },
        every,
      ),
    );
    return () => {
      for (const stop of stops) stop();
    };
  }

  get instances(): readonly EngineClient[] {
    return this.#clients;
  }

  /** @throws EngineError when one of them can't load the model; then all are stopped */
  async start(options: EngineOptions): Promise<void> {
    try {
      await Promise.all(this.#clients.map((client) => client.start(options)));
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.stop()));
  }

  async *generate(
    request: Omit<EngineRequest, 'id'>,
    signal: AbortSignal,
  ): AsyncGenerator<TokenBatch, void> {
    const outputTokenIds = [...request.outputTokenIds];
    for (let mayMove = this.#instances.length > 1; ; mayMove = false) {
      const instance = this.#choose(request);
      const move = new AbortController();
      if (mayMove) instance.movable.add(move);
      instance.numRequests++;
      try {
        const rest = { ...request, outputTokenIds: Int32Array.from(outputTokenIds) };
        const either = mayMove ? AbortSignal.any([signal, move.signal]) : signal;
        for await (const batch of instance.client.generate(rest, either)) {
          outputTokenIds.push(...batch.tokenIds);
          yield batch;
        }
        return;
      } catch (error) {
        if (!move.signal.aborted || signal.aborted) throw error;
      } finally {
        instance.movable.delete(move);
        instance.numRequests--;
      }
    }
  }

  get #clients(): readonly EngineClient[] {
    return this.#instances.map(({ client }) => client);
  }

  #choose(request: Omit<EngineRequest, 'id'>): Instance {
    const { state } = this;
    const able = this.#instances.filter(({ client }) => client.state === state);
    const fewest = Math.min(...able.map(({ numRequests }) => numRequests));
    const known = this.#affinity.find(request);
    const isGood =
      known !== undefined && able.includes(known) && known.numRequests <= fewest + AFFINITY_SLACK;
    const chosen = isGood ? known : able.find(({ numRequests }) => numRequests === fewest);
    if (chosen === undefined) throw new Error('there are no instances');
    this.#affinity.remember(request, chosen);
    return chosen;
  }

  #moveFrom(crashed: Instance): void {
    const hasOther = this.#instances.some(
      (other) => other !== crashed && other.client.state === 'ready',
    );
    if (!hasOther) return;
    for (const move of crashed.movable) move.abort(new Error('the engine process crashed'));
  }
}

function sum<T>(items: readonly T[], valueOf: (item: T) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0);
}
