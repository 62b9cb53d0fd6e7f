import { LIMITS } from '../../limits.ts';

/** A text, and what its client salts its cached prefixes with. */
export interface SlotText {
  /** Prompt and answer; no images, and no adapter's. */
  readonly tokenIds: Int32Array;
  readonly cacheSalt: string;
}

/**
 * The last text of each client's slots. Slots are names here, which requests give with `id_slot`: the
 * engine puts texts where it has room, and finds them by what they begin with.
 */
export class SlotTexts {
  readonly #numSlots: number;
  /** In order of their last use. */
  readonly #texts = new Map<string, SlotText>();
  #numTokens = 0;

  /** @param numSlots of each client */
  constructor(numSlots: number) {
    this.#numSlots = numSlots;
  }

  /** Whether there is a slot of this number. */
  has(slot: number): boolean {
    return slot >= 0 && slot < this.#numSlots;
  }

  /** A text of the slot has ended. Those unused for longest make way where there are too many. */
  put(client: string, slot: number, text: SlotText): void {
    if (!this.has(slot)) return;
    this.remove(client, slot);
    this.#texts.set(keyOf(client, slot), text);
    this.#numTokens += text.tokenIds.length;
    for (const [oldest, { tokenIds }] of this.#texts) {
      if (this.#texts.size <= LIMITS.slotTexts && this.#numTokens <= LIMITS.slotTextTokens) break;
      this.#texts.delete(oldest);
      this.#numTokens -= tokenIds.length;
    }
  }

  get(client: string, slot: number): SlotText | null {
    return this.#texts.get(keyOf(client, slot)) ?? null;
  }

  /** @returns tokens that it had */
  remove(client: string, slot: number): number {
    const key = keyOf(client, slot);
    const numTokens = this.#texts.get(key)?.tokenIds.length ?? 0;
    this.#texts.delete(key);
    this.#numTokens -= numTokens;
    return numTokens;
  }
}

function keyOf(client: string, slot: number): string {
  return `${slot} ${client}`;
}
