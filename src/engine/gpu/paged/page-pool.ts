import type { BlockLog } from '../../kv-cache/block-log.ts';
import { blockHash, saltHash } from '../../kv-cache/prefix-index.ts';

/**
 * Predecessor of a page: the id of the text up to the end of the page before, as `PagePool.register`
 * named it, or, for a first page, the salt.
 */
export type Predecessor = number | string;

/** The tokens whose keys and values a full page holds, and what they follow. */
interface PageText {
  /** Id of the text from its beginning to the end of this page; never reused. */
  readonly id: number;
  readonly hash: number;
  readonly predecessor: Predecessor;
  readonly tokenIds: Int32Array;
}

interface Page {
  readonly index: number;
  /** Sequences that have it in their page table. */
  refCount: number;
  text: PageText | null;
}

/**
 * The pages of a paged KV cache: how many sequences hold each, and which text a full one holds, so
 * that sequences that begin alike share pages. A page that nobody holds keeps its text until the
 * memory is needed, the one released longest ago first.
 *
 * Hashes propose, as in PrefixIndex, and the tokens decide: each text names its predecessor, so that
 * equal pages after different beginnings are never taken for one another.
 */
export class PagePool {
  readonly numPages: number;
  readonly #pages: readonly Page[];
  /** Held by nobody, without a text. */
  readonly #empty: Page[];
  /** Held by nobody, with a text; in the order of release. */
  readonly #cached = new Set<Page>();
  readonly #byHash = new Map<number, Page>();
  readonly #log: BlockLog | null;
  /** Names of the texts that pages keep. */
  readonly #textIds = new Set<number>();
  #lastTextId = 0;

  /** @param log receives each text that a page keeps, and that none keeps any more */
  constructor(numPages: number, log: BlockLog | null = null) {
    this.numPages = numPages;
    this.#log = log;
    this.#pages = Array.from({ length: numPages }, (_, index) => ({
      index,
      refCount: 0,
      text: null,
    }));
    this.#empty = this.#pages.toReversed();
  }

  /** Pages that can be allocated: empty ones and those with a text that nobody holds. */
  get numFree(): number {
    return this.#empty.length + this.#cached.size;
  }

  /** Pages that keep a text and are held by nobody. */
  get numCached(): number {
    return this.#cached.size;
  }

  refCount(index: number): number {
    return this.#page(index).refCount;
  }

  /** Takes an empty page, or the one with a text that was released longest ago. */
  allocate(): number {
    const page = this.#empty.pop() ?? this.#evict();
    if (!page) throw new Error('the page pool is empty');
    page.refCount = 1;
    return page.index;
  }

  /** Holds a page that `find` gave once more. */
  share(index: number): void {
    const page = this.#page(index);
    this.#cached.delete(page);
    page.refCount += 1;
  }

  /** Gives back one hold. */
  release(index: number): void {
    const page = this.#page(index);
    if (page.refCount === 0) throw new Error(`page ${index} is held by nobody`);
    page.refCount -= 1;
    if (page.refCount > 0) return;
    if (page.text) this.#cached.add(page);
    else this.#empty.push(page);
  }

  /** The page with this text, or null. */
  find(predecessor: Predecessor, tokenIds: Int32Array): { index: number; textId: number } | null {
    const page = this.#byHash.get(textHash(predecessor, tokenIds));
    if (!page?.text || !isText(page.text, predecessor, tokenIds)) return null;
    return { index: page.index, textId: page.text.id };
  }

  /**
   * Makes a full page findable by its text; it must not be written any more. When another page
   * has that text already, the first one is found from then on.
   * @param salt of the whole text
   * @returns the name of the text that ends with the page; null when its hash is taken by another, or
   *   what it follows is gone, so that it could never be found
   */
  register(
    index: number,
    predecessor: Predecessor,
    tokenIds: Int32Array,
    salt = '',
  ): number | null {
    if (typeof predecessor === 'number' && !this.#textIds.has(predecessor)) return null;
    const hash = textHash(predecessor, tokenIds);
    const known = this.#byHash.get(hash)?.text;
    if (known) return isText(known, predecessor, tokenIds) ? known.id : null;
    const page = this.#page(index);
    page.text = { id: ++this.#lastTextId, hash, predecessor, tokenIds: tokenIds.slice() };
    this.#byHash.set(hash, page);
    this.#textIds.add(page.text.id);
    const parent = typeof predecessor === 'number' ? predecessor : null;
    this.#log?.stored(page.text.id, parent, tokenIds, salt);
    return page.text.id;
  }

  /** Makes a page's text unfindable. */
  forget(index: number): void {
    const page = this.#page(index);
    if (!page.text) return;
    this.#byHash.delete(page.text.hash);
    this.#textIds.delete(page.text.id);
    this.#log?.removed([page.text.id]);
    page.text = null;
    if (this.#cached.delete(page)) this.#empty.push(page);
  }

  #evict(): Page | undefined {
    const [oldest] = this.#cached;
    if (oldest) this.forget(oldest.index);
    return this.#empty.pop();
  }

  #page(index: number): Page {
    const page = this.#pages[index];
    if (!page) throw new RangeError(`there is no page ${index}`);
    return page;
  }
}

function textHash(predecessor: Predecessor, tokenIds: Int32Array): number {
  return blockHash(typeof predecessor === 'string' ? saltHash(predecessor) : predecessor, tokenIds);
}

function isText(text: PageText, predecessor: Predecessor, tokenIds: Int32Array): boolean {
  return (
    text.predecessor === predecessor &&
    text.tokenIds.length === tokenIds.length &&
    text.tokenIds.every((tokenId, index) => tokenId === tokenIds[index])
  );
}
