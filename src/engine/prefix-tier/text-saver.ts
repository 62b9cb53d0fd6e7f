import { setImmediate } from 'node:timers/promises';
import { LIMITS } from '../../limits.ts';
import type { SlotCache } from '../kv-cache/slot-cache.ts';
import { WARM_UP_SALT } from '../request.ts';
import { type BlockKey, blockKeys, TIER_BLOCK } from './block-names.ts';
import type { FolderBlocks } from './folder-blocks.ts';
import type { MemoryBlocks } from './memory-blocks.ts';
import type { TransferRate } from './transfer-rate.ts';

/** An ended text that a slot is kept for. */
export interface KeptText {
  /** The slot has this very array: it says where the text is, and when it is gone. */
  readonly tokenIds: Int32Array;
  readonly salt: string;
}

/** Texts that slots are kept for. */
export type SlotTexts = Pick<SlotCache, 'numSlots' | 'cachedTokenIds'>;

/** The memory of the slots. */
export interface SlotMemoryReader {
  read(slot: number, start: number, numPositions: number): Uint8Array;
}

export interface TextSaverOptions {
  /** Begins the names of all blocks: see `blockKeys`. */
  readonly model: string;
  readonly blockBytes: number;
  readonly memory: MemoryBlocks | null;
  readonly folder: FolderBlocks | null;
  /** Told of the copies from slots. */
  readonly rate: TransferRate;
}

/** Saves ended texts from their slots, one after the other, a block in each turn of the event loop. */
export class TextSaver {
  readonly #options: TextSaverOptions;
  #slots: { readonly texts: SlotTexts; readonly memory: SlotMemoryReader } | null = null;
  /** Texts that are not saved yet, oldest first. */
  readonly #unsaved: KeptText[] = [];
  #saving: Promise<void> | null = null;
  readonly #writes = new Set<Promise<void>>();
  /** Bytes on their way to the folder. */
  #bytesWriting = 0;
  #numSaved = 0;
  #numLost = 0;

  constructor(options: TextSaverOptions) {
    this.#options = options;
  }

  /** Blocks that were saved. */
  get numSaved(): number {
    return this.#numSaved;
  }

  /** Texts of which something was not saved, since their slot was needed. */
  get numLost(): number {
    return this.#numLost;
  }

  /** To be called before anything is saved. */
  attach(texts: SlotTexts, memory: SlotMemoryReader): void {
    this.#slots = { texts, memory };
  }

  /** Saves a text in the background, for as long as its slot is kept for it. */
  save(text: KeptText): void {
    if (text.tokenIds.length < TIER_BLOCK || text.salt === WARM_UP_SALT) return;
    this.#unsaved.push(text);
    if (this.#unsaved.length > LIMITS.prefixTierTexts) {
      this.#unsaved.shift();
      this.#numLost++;
    }
    this.#saving ??= this.#saveAll();
  }

  /** Never rejects. */
  async #saveAll(): Promise<void> {
    // Not within the step that ended the text.
    await setImmediate();
    for (let text = this.#unsaved.shift(); text; text = this.#unsaved.shift()) {
      await this.#saveText(text);
    }
    this.#saving = null;
  }

  async #saveText({ tokenIds, salt }: KeptText): Promise<void> {
    const { model, memory, folder, blockBytes } = this.#options;
    const keys = blockKeys(model, salt, tokenIds);
    const forMemory = memory?.fits(keys.length, blockBytes) ?? 0;
    for (const [index, key] of keys.entries()) {
      const inMemory = index >= forMemory || memory?.get(key.name) !== null;
      if (inMemory && (folder === null || (await folder.has(key)))) continue;
      while (
        this.#bytesWriting + blockBytes > LIMITS.prefixTierBytesInFlight &&
        this.#writes.size > 0
      ) {
        await Promise.race(this.#writes);
      }
      // Between two steps: what the slot has then is what the engine says it has.
      await setImmediate();
      const bytes = this.#copyOf(tokenIds, index);
      if (bytes === null) {
        this.#numLost++;
        return;
      }
      if (index < forMemory) memory?.put(key.name, bytes);
      this.#numSaved++;
      if (folder) this.#write(folder, key, bytes);
    }
    const names = keys.map(({ name }) => name);
    memory?.touch(names);
    await Promise.all(this.#writes);
    await folder?.touch(names);
  }

  /** A block of a text's keys and values; null if no slot is kept for the text any more. */
  #copyOf(tokenIds: Int32Array, block: number): Uint8Array | null {
    if (this.#slots === null) return null;
    const { texts, memory } = this.#slots;
    for (let slot = 0; slot < texts.numSlots; slot++) {
      if (texts.cachedTokenIds(slot) !== tokenIds) continue;
      const startedAt = performance.now();
      const bytes = memory.read(slot, block * TIER_BLOCK, TIER_BLOCK);
      // It takes as long to load it.
      this.#options.rate.observe(bytes.byteLength, performance.now() - startedAt);
      return bytes;
    }
    return null;
  }

  #write(folder: FolderBlocks, key: BlockKey, bytes: Uint8Array): void {
    this.#bytesWriting += bytes.byteLength;
    const write = folder.write(key, bytes).then(() => {
      this.#bytesWriting -= bytes.byteLength;
      this.#writes.delete(write);
    });
    this.#writes.add(write);
  }

  /** Resolves when all texts that have ended are saved. Never rejects. */
  async settle(): Promise<void> {
    await this.#saving;
    await Promise.all(this.#writes);
  }
}
