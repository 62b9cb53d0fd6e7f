/**
 * Positions behind a window that are there as well: a text found again is computed from its last token but
 * one on, and a chat's template may write the end of an answer another way.
 */
const WINDOW_MARGIN = 16;
/** Positions that are given back together, at least: each time costs a system call for each head of each layer. */
const LEAST_GIVEN_BACK = 64;
/** Windows of each slot that stay behind its end, see SlotWindows. */
export const KEPT_WINDOWS = 2;

export interface WindowShape {
  /** Longest window, in tokens: what the layers with one attend to. */
  readonly window: number;
  /** Elements of keys of a position in all layers, and in those with a window. */
  readonly width: number;
  readonly windowedWidth: number;
  /** Positions that get memory together. */
  readonly pageLength: number;
  /** Positions of a slot. */
  readonly capacity: number;
  /** Most tokens of a step. */
  readonly stepTokens: number;
  /** Whether windows are kept for prompts that begin alike. */
  readonly prefixCaching: boolean;
  /** Positions behind a window that stay with it; WINDOW_MARGIN if left out. */
  readonly margin?: number;
  /** Positions that go back together at least; LEAST_GIVEN_BACK if left out. */
  readonly leastGivenBack?: number;
}

/** Memory of slots as a budget counts it: a page is that of `pageLength` positions in all layers. */
export interface SlotPages {
  /** Pages that hold that many tokens of a slot. */
  pagesOf(numTokens: number): number;
  /** Most positions of a slot, in whole pages, that so many pages hold. */
  positionsOf(pages: number): number;
}

/** Pages where every layer keeps every position. */
export function wholePages(pageLength: number): SlotPages {
  return {
    pagesOf: (numTokens) => Math.ceil(numTokens / pageLength),
    positionsOf: (pages) => pages * pageLength,
  };
}

/**
 * Memory of slots whose windowed layers hold windows alone. A text takes pages of all layers until they are
 * full, and from there on those of its other layers.
 */
export class WindowBudget implements SlotPages {
  readonly shape: WindowShape;
  /**
   * Pages that windowed layers have of a text's end: its window, the tokens of a step, and what is behind
   * the window and goes back later.
   */
  readonly endPages: number;
  /** Positions of a window that stay: itself, and the margin behind it. */
  readonly heldLength: number;
  /** Pages of a text's end and of kept windows. */
  readonly #windowPages: number;
  /** Elements of keys of a position in layers that keep every one. */
  readonly #wholeWidth: number;

  constructor(shape: WindowShape) {
    const { window, width, windowedWidth, pageLength, stepTokens, prefixCaching } = shape;
    const { margin = WINDOW_MARGIN, leastGivenBack = LEAST_GIVEN_BACK } = shape;
    this.shape = shape;
    this.#wholeWidth = width - windowedWidth;
    const held = window + margin;
    this.heldLength = held;
    // Neither end of a range need be at a page.
    const keptPages = prefixCaching ? KEPT_WINDOWS * (Math.ceil(held / pageLength) + 1) : 0;
    this.endPages = Math.ceil((held + stepTokens + leastGivenBack) / pageLength) + 2;
    this.#windowPages = this.endPages + keptPages;
  }

  pagesOf(numTokens: number): number {
    const pages = Math.ceil(numTokens / this.shape.pageLength);
    const ofAll = Math.min(pages, this.#windowPages);
    return ofAll + Math.ceil(((pages - ofAll) * this.#wholeWidth) / this.shape.width);
  }

  positionsOf(pages: number): number {
    const { width, pageLength, capacity } = this.shape;
    if (pages < this.#windowPages) return pages * pageLength;
    const beyond = Math.floor(((pages - this.#windowPages) * width) / this.#wholeWidth);
    const most = Math.ceil(capacity / pageLength);
    return Math.min(this.#wholeWidth === 0 ? most : this.#windowPages + beyond, most) * pageLength;
  }

  /** Whether the longest texts take less memory than in layers that keep every position. */
  get saves(): boolean {
    const { windowedWidth, capacity, pageLength } = this.shape;
    return windowedWidth > 0 && this.#windowPages < Math.ceil(capacity / pageLength);
  }
}

/** @returns null where texts take no less than in layers that keep every position */
export function savingBudget(shape: WindowShape): WindowBudget | null {
  const budget = new WindowBudget(shape);
  return budget.saves ? budget : null;
}
