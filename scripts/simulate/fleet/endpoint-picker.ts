import type { Random } from '../../../src/bench/random.ts';
import { blockHash } from '../../../src/engine/kv-cache/prefix-index.ts';
import type { SimulatedRequest } from '../traffic.ts';
import type { Picker } from './picker.ts';
import type { Replica, ReplicaState } from './replica.ts';

/** As in deploy/kubernetes/inference-gateway/endpoint-picker.yaml. */
const WEIGHTS = { queue: 2, kvCache: 2, prefix: 3 } as const;
/** How old a scrape may be. */
const SCRAPE_MS = 50;
/** Tokens that are hashed together. */
const BLOCK_TOKENS = 64;
/** Blocks that it believes a replica to have. */
const BLOCKS_PER_REPLICA = 1024;

/**
 * As llm-d's: each replica's queue and KV cache by scrapes, and by what it sent where the prefix that a
 * replica probably has. The best sum wins.
 */
export class EndpointPicker implements Picker {
  readonly #random: Random;
  /** By replica: what was sent there last, oldest first. */
  readonly #blocks = new Map<Replica, Set<number>>();
  readonly #holders = new Map<number, Set<Replica>>();
  #scraped = new Map<Replica, ReplicaState>();
  #scrapedAt = -Infinity;

  constructor(random: Random) {
    this.#random = random;
  }

  pick({ promptTokenIds }: SimulatedRequest, replicas: readonly Replica[], nowMs: number): Replica {
    this.#scrape(replicas, nowMs);
    const hashes = hashesOf(promptTokenIds);
    const matches = this.#matches(hashes);
    const queues = replicas.map((replica) => this.#scraped.get(replica)?.numWaiting ?? 0);
    const [least, most] = [Math.min(...queues), Math.max(...queues)];
    let best: Replica | undefined;
    let bestScore = -Infinity;
    for (const [index, replica] of replicas.entries()) {
      const queue = most === least ? 1 : (most - (queues[index] ?? 0)) / (most - least);
      const kvCache = 1 - (this.#scraped.get(replica)?.kvCacheUsage ?? 0);
      const prefix = hashes.length === 0 ? 0 : (matches.get(replica) ?? 0) / hashes.length;
      const score =
        WEIGHTS.queue * queue +
        WEIGHTS.kvCache * kvCache +
        WEIGHTS.prefix * prefix +
        // Any of equals.
        1e-6 * this.#random.uniform();
      if (score > bestScore) [best, bestScore] = [replica, score];
    }
    if (!best) throw new Error('there is no replica');
    this.#remember(best, hashes);
    return best;
  }

  #scrape(replicas: readonly Replica[], nowMs: number): void {
    if (nowMs - this.#scrapedAt < SCRAPE_MS && this.#scraped.has(replicas[0] as Replica)) return;
    this.#scrapedAt = nowMs;
    this.#scraped = new Map(replicas.map((replica) => [replica, replica.state]));
  }

  /** Leading blocks that each replica probably has. */
  #matches(hashes: readonly number[]): Map<Replica, number> {
    const matches = new Map<Replica, number>();
    for (const [index, hash] of hashes.entries()) {
      let isAny = false;
      for (const replica of this.#holders.get(hash) ?? []) {
        if ((matches.get(replica) ?? 0) < index) continue;
        matches.set(replica, index + 1);
        isAny = true;
      }
      if (!isAny) break;
    }
    return matches;
  }

  #remember(replica: Replica, hashes: readonly number[]): void {
    let blocks = this.#blocks.get(replica);
    if (!blocks) this.#blocks.set(replica, (blocks = new Set()));
    for (const hash of hashes) {
      blocks.delete(hash);
      blocks.add(hash);
      const holders = this.#holders.get(hash);
      if (holders) holders.add(replica);
      else this.#holders.set(hash, new Set([replica]));
    }
    for (const hash of blocks) {
      if (blocks.size <= BLOCKS_PER_REPLICA) break;
      blocks.delete(hash);
      const holders = this.#holders.get(hash);
      holders?.delete(replica);
      if (holders?.size === 0) this.#holders.delete(hash);
    }
  }
}

/** Hash of each full block, covering everything before it too. */
function hashesOf(tokenIds: Int32Array): number[] {
  const hashes: number[] = [];
  for (let end = BLOCK_TOKENS; end <= tokenIds.length; end += BLOCK_TOKENS) {
    hashes.push(blockHash(hashes.at(-1) ?? 0, tokenIds.subarray(end - BLOCK_TOKENS, end)));
  }
  return hashes;
}
