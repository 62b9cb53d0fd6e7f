import { freeMemory } from './free-memory.ts';
import { hugePageBytes } from './huge-pages.ts';
import type { NativeMemory } from './native-memory.ts';

/** Bytes of a mapped file that every step reads. */
export interface HotRange {
  readonly file: NativeMemory;
  readonly start: number;
  readonly end: number;
}

/** Bytes between two looks at how much memory is free. */
const BYTES_PER_LOOK = 64 * 2 ** 20;
/** Bytes between matrices that are moved with them, at most. */
const GAP_BYTES = 2 ** 20;
/** Memory that must stay free, in bytes. */
const RESERVE_BYTES = 256 * 2 ** 20;

/**
 * Weights on their way from a file's pages into huge pages, at the same addresses. A processor finds the address of
 * each page of 4 KiB anew, and asks memory ahead only within a page: a virtual machine reads such weights at two
 * thirds of the rate. What a process has in huge pages it has for itself: other processes that map the same file
 * share nothing with it any more.
 */
export class SettlingWeights {
  readonly #pageBytes = hugePageBytes();
  /** Ranges that are left, in whole pages, the next one last. */
  readonly #left: { readonly file: NativeMemory; start: number; readonly end: number }[];
  readonly #freeMemory: () => number;
  #bytesUntilLook = 0;
  /** Time that is left for it, in milliseconds; less than zero after a page that took longer. */
  #msLeft = 0;

  /** @param free bytes that this process may still take; for tests */
  constructor(ranges: readonly HotRange[], free = freeMemory) {
    this.#freeMemory = free;
    const bytes = this.#pageBytes;
    this.#left = bytes === null ? [] : joined(ranges).flatMap((range) => wholePages(range, bytes));
  }

  /**
   * Moves as many as a time allows; none where the machine has no room for them. Nobody must read them meanwhile.
   * @param ms milliseconds, which a page may exceed: that is taken off the next ones
   * @returns bytes that are left to be moved
   */
  move(ms: number): number {
    this.#msLeft += ms;
    while (this.#msLeft > 0 && this.#left.length > 0) {
      const startedAt = performance.now();
      this.#moveOne();
      this.#msLeft -= performance.now() - startedAt;
    }
    return this.#bytesLeft();
  }

  #moveOne(): void {
    const range = this.#left.at(-1);
    const bytes = this.#pageBytes;
    if (range === undefined || bytes === null) return;
    if (!this.#hasRoom(bytes) || !range.file.copyToHugePages(range.start, bytes)) {
      this.#left.length = 0;
      return;
    }
    range.start += bytes;
    if (range.start === range.end) this.#left.pop();
  }

  #bytesLeft(): number {
    return this.#left.reduce((sum, { start, end }) => sum + end - start, 0);
  }

  /** Whether all that is left fits into free memory, pages of files that can be dropped included. */
  #hasRoom(bytes: number): boolean {
    this.#bytesUntilLook -= bytes;
    if (this.#bytesUntilLook >= 0) return true;
    this.#bytesUntilLook = BYTES_PER_LOOK;
    return this.#freeMemory() >= this.#bytesLeft() + RESERVE_BYTES;
  }
}

/** Ranges from the last one on, those of a file that nearly touch as one: scales lie between matrices. */
function joined(ranges: readonly HotRange[]): HotRange[] {
  const all: HotRange[] = [];
  for (const range of ranges.toSorted((one, other) => one.start - other.start)) {
    const at = all.findLastIndex(({ file }) => file === range.file);
    const before = all[at];
    if (before && range.start - before.end < GAP_BYTES) {
      all[at] = { ...before, end: Math.max(before.end, range.end) };
    } else {
      all.push(range);
    }
  }
  return all.toReversed();
}

/** The part of a range whose addresses are of whole huge pages. */
function wholePages({ file, start, end }: HotRange, bytes: number) {
  const address = Number(file.address % BigInt(bytes));
  const first = Math.ceil((start + address) / bytes) * bytes - address;
  const last = Math.floor((end + address) / bytes) * bytes - address;
  return last > first ? [{ file, start: first, end: last }] : [];
}
