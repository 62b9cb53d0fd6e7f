import { LIMITS } from '../../limits.ts';
import type { CostModel } from '../costs/cost-model.ts';
import { type EngineRequest, PUBLIC_SALT, WARM_UP_SALT } from '../request.ts';
import { Sequence } from '../sequence.ts';
import type { PrefixTierStats } from '../stats.ts';
import type { BlockOrigin } from './block-file.ts';
import { type BlockKey, blockKeys, TIER_BLOCK } from './block-names.ts';
import { eachOf } from './each-of.ts';
import type { FolderBlocks } from './folder-blocks.ts';
import type { MemoryBlocks } from './memory-blocks.ts';
import { type KeptText, type SlotMemoryReader, type SlotTexts, TextSaver } from './text-saver.ts';
import { TransferRate } from './transfer-rate.ts';

/** Memory and disks are assumed to be this fast until they are measured, in bytes per millisecond. */
const MEMORY_RATE = 4e6;
const DISK_RATE = 1e6;

/** Texts that slots are kept for, and how much of another they have. */
interface SlotContents extends SlotTexts {
  longestPrefix(sequence: Sequence): { readonly length: number } | null;
}

export interface PrefixTierOptions {
  readonly origin: BlockOrigin;
  readonly blockBytes: number;
  readonly memory: MemoryBlocks | null;
  readonly folder: FolderBlocks | null;
  readonly costs: Pick<CostModel, 'prefillMs'>;
}

/** Blocks that were read for a request. */
export interface FetchedPrefix {
  /** Position of the first block. */
  readonly start: number;
  readonly blocks: readonly Uint8Array[];
  /** Tokens of the text up to the end of the last block. */
  readonly length: number;
}

/**
 * Prefixes beyond the KV cache, in memory and in a folder. Texts are saved from their slots once they
 * have ended, a block in each turn of the event loop; requests are told of what is there before they
 * come to the engine, which loads it when they get a slot.
 *
 * Files are read, checked and written by Node.js's own threads. On the engine's thread are one copy for
 * each saved block, and one of all blocks that are loaded.
 */
export class PrefixTier {
  readonly #options: PrefixTierOptions;
  readonly #model: string;
  readonly #memoryRate = new TransferRate(MEMORY_RATE);
  readonly #diskRate = new TransferRate(DISK_RATE);
  readonly #saver: TextSaver;
  /** Requests that blocks are read for, or were; without blocks until they are there. */
  readonly #fetched = new Map<number, FetchedPrefix | null>();
  /** Bytes on their way back, and those of blocks that requests wait with. */
  #bytesFetched = 0;
  #slots: SlotContents | null = null;
  #queries = 0;
  #hits = 0;

  constructor(options: PrefixTierOptions) {
    this.#options = options;
    this.#model = JSON.stringify(options.origin);
    this.#saver = new TextSaver({ ...options, model: this.#model, rate: this.#memoryRate });
  }

  get stats(): PrefixTierStats {
    const { memory, folder } = this.#options;
    return {
      externalPrefixCacheQueries: this.#queries,
      externalPrefixCacheHits: this.#hits,
      prefixTierMemoryBytes: memory?.byteLength ?? 0,
      prefixTierMemoryBlocks: memory?.size ?? 0,
      prefixTierFolderBytes: folder?.byteLength ?? 0,
      prefixTierFolderBlocks: folder?.size ?? 0,
      prefixTierSaved: this.#saver.numSaved,
      prefixTierLost: this.#saver.numLost,
      prefixTierErrors: folder?.numErrors ?? 0,
    };
  }

  /** To be called before anything is saved or fetched: what texts are saved from. */
  attach(slots: SlotContents, memory: SlotMemoryReader): void {
    this.#slots = slots;
    this.#saver.attach(slots, memory);
  }

  /** Saves a text in the background, for as long as its slot is kept for it. */
  save(text: KeptText): void {
    this.#saver.save(text);
  }

  /** Resolves when all texts that have ended are saved. Never rejects. */
  async settle(): Promise<void> {
    await this.#saver.settle();
  }

  /**
   * Reads what the tier has of a request's prompt beyond what slots have, if that is quicker than to
   * compute it. Never rejects. `forget` stops it, and has to be called if the request never gets a slot.
   */
  async fetch(request: EngineRequest): Promise<void> {
    const sequence = new Sequence(request);
    const { id, numTokens } = sequence;
    const known = this.#slots?.longestPrefix(sequence)?.length ?? 0;
    // One token is always computed, and all of a prompt that is scored.
    const tokenIds = sequence.tokenIds(0, sequence.scoresPrompt ? 0 : numTokens - 1);
    const first = Math.floor(known / TIER_BLOCK);
    if (tokenIds.length < (first + 1) * TIER_BLOCK || request.cacheSalt === WARM_UP_SALT) return;
    this.#queries += tokenIds.length - known;
    this.#fetched.set(id, null);
    let found: readonly BlockKey[] = [];
    for (const salt of new Set([request.cacheSalt, PUBLIC_SALT])) {
      const keys = await this.#find(blockKeys(this.#model, salt, tokenIds).slice(first));
      if (keys.length > found.length) found = keys;
    }
    const bytes = found.length * this.#options.blockBytes;
    const hasRoom = this.#bytesFetched + bytes <= LIMITS.prefixTierBytesInFlight;
    const length = (first + found.length) * TIER_BLOCK - known;
    const computeMs = length > 0 ? this.#options.costs.prefillMs([{ start: known, length }]) : 0;
    if (!hasRoom || !this.#fetched.has(id) || !this.#isQuicker(found, computeMs)) {
      this.#fetched.delete(id);
      return;
    }
    this.#bytesFetched += bytes;
    const blocks = await this.#read(id, found, computeMs);
    this.#bytesFetched -= bytes;
    if (!this.#fetched.has(id) || blocks.length === 0) {
      this.#fetched.delete(id);
      return;
    }
    this.#bytesFetched += blocks.length * this.#options.blockBytes;
    const start = first * TIER_BLOCK;
    this.#fetched.set(id, { start, blocks, length: start + blocks.length * TIER_BLOCK });
  }

  /** The first of the keys whose blocks are there. */
  async #find(keys: readonly BlockKey[]): Promise<readonly BlockKey[]> {
    const { folder } = this.#options;
    const has = async (key: BlockKey): Promise<boolean> =>
      this.#inMemory(key) !== null || ((await folder?.has(key)) ?? false);
    const [next] = keys;
    if (next === undefined || !(await has(next))) return [];
    let end = keys.length;
    await eachOf(keys, async (key, index) => {
      if (index < end && !(await has(key))) end = Math.min(end, index);
    });
    return keys.slice(0, end);
  }

  /** @param computeMs time that the blocks' tokens take otherwise */
  #isQuicker(found: readonly BlockKey[], computeMs: number): boolean {
    if (computeMs === 0) return false;
    const { blockBytes } = this.#options;
    const onDisk = found.filter((key) => this.#inMemory(key) === null).length;
    const readMs = this.#diskRate.msOf(onDisk * blockBytes);
    const loadMs = this.#memoryRate.msOf(found.length * blockBytes);
    if (readMs + loadMs < computeMs) return true;
    this.#diskRate.skipped();
    this.#memoryRate.skipped();
    return false;
  }

  /**
   * Blocks up to the first that can't be read, or was not in the time that computing takes. Nothing more
   * is read once the request is gone.
   */
  async #read(id: number, keys: readonly BlockKey[], withinMs: number): Promise<Uint8Array[]> {
    const { memory, folder } = this.#options;
    const blocks: (Uint8Array | null)[] = keys.map((key) => this.#inMemory(key));
    const onDisk = keys.flatMap((key, index) => (blocks[index] === null ? [{ key, index }] : []));
    const startedAt = performance.now();
    let bytesRead = 0;
    await eachOf(onDisk, async ({ key, index }) => {
      if (!this.#fetched.has(id) || performance.now() - startedAt > withinMs) return;
      const bytes = (await folder?.read(key)) ?? null;
      blocks[index] = bytes;
      bytesRead += bytes?.byteLength ?? 0;
    });
    this.#diskRate.observe(bytesRead, performance.now() - startedAt);
    const missing = blocks.indexOf(null);
    const whole = blocks.slice(0, missing === -1 ? blocks.length : missing);
    const names = keys.slice(0, whole.length).map(({ name }) => name);
    const forMemory = memory?.fits(whole.length, this.#options.blockBytes) ?? 0;
    for (const [index, name] of names.slice(0, forMemory).entries()) {
      const bytes = whole[index];
      if (bytes) memory?.put(name, bytes);
    }
    memory?.touch(names);
    void folder?.touch(names);
    return whole.filter((bytes) => bytes !== null);
  }

  #inMemory({ name }: BlockKey): Uint8Array | null {
    return this.#options.memory?.get(name) ?? null;
  }

  /** Gives what was read for a request, once. @param known tokens that its slot has */
  take(id: number, known: number): FetchedPrefix | null {
    const fetched = this.forget(id);
    if (fetched === null || fetched.start > known || fetched.length <= known) return null;
    const { start, blocks, length } = fetched;
    const skipped = Math.floor((known - start) / TIER_BLOCK);
    this.#hits += length - known;
    return { start: start + skipped * TIER_BLOCK, blocks: blocks.slice(skipped), length };
  }

  /** The request is gone, or has what it was waiting for. @returns what was read for it */
  forget(id: number): FetchedPrefix | null {
    const fetched = this.#fetched.get(id) ?? null;
    this.#fetched.delete(id);
    this.#bytesFetched -= (fetched?.blocks.length ?? 0) * this.#options.blockBytes;
    return fetched;
  }
}
