import { blockHash, saltHash } from '../../kv-cache/prefix-index.ts';

/**
 * What a block's text follows: the text up to the end of the block before, as `BlockPool.register`
 * named it, or, for a first block, the salt.
 */
export type Predecessor = number | string;

/** The tokens whose keys and values a full block holds, and what they follow. */
interface BlockText {
  /** Of the text from its beginning to the end of this block; never given twice. */
  readonly id: number;
  readonly hash: number;
  readonly predecessor: Predecessor;
  readonly tokenIds: Int32Array;
}

interface Block {
  readonly index: number;
  /** Sequences that have it in their block table. */
  refCount: number;
  text: BlockText | null;
}

/**
 * The blocks of a paged KV cache: how many sequences hold each, and which text a full one holds, so
 * that sequences that begin alike share blocks. A block that nobody holds keeps its text until the
 * memory is needed, the one released longest ago first.
 *
 * Hashes propose, as in PrefixIndex, and the tokens decide: each text names its predecessor, so that
 * equal blocks after different beginnings are never taken for one another.
 */
export class BlockPool {
  readonly numBlocks: number;
  readonly #blocks: readonly Block[];
  /** Held by nobody, without a text. */
  readonly #empty: Block[];
  /** Held by nobody, with a text; in the order of release. */
  readonly #cached = new Set<Block>();
  readonly #byHash = new Map<number, Block>();
  #lastTextId = 0;

  constructor(numBlocks: number) {
    this.numBlocks = numBlocks;
    this.#blocks = Array.from({ length: numBlocks }, (_, index) => ({
      index,
      refCount: 0,
      text: null,
    }));
    this.#empty = this.#blocks.toReversed();
  }

  /** Blocks that can be allocated: empty ones and those with a text that nobody holds. */
  get numFree(): number {
    return this.#empty.length + this.#cached.size;
  }

  /** Blocks that keep a text and are held by nobody. */
  get numCached(): number {
    return this.#cached.size;
  }

  refCount(index: number): number {
    return this.#block(index).refCount;
  }

  /** Takes an empty block, or the one with a text that was released longest ago. */
  allocate(): number {
    const block = this.#empty.pop() ?? this.#evict();
    if (!block) throw new Error('the block pool is empty');
    block.refCount = 1;
    return block.index;
  }

  /** Holds a block that `find` gave once more. */
  share(index: number): void {
    const block = this.#block(index);
    this.#cached.delete(block);
    block.refCount += 1;
  }

  /** Gives back one hold. */
  release(index: number): void {
    const block = this.#block(index);
    if (block.refCount === 0) throw new Error(`block ${index} is held by nobody`);
    block.refCount -= 1;
    if (block.refCount > 0) return;
    if (block.text) this.#cached.add(block);
    else this.#empty.push(block);
  }

  /** The block with this text, or null. */
  find(predecessor: Predecessor, tokenIds: Int32Array): { index: number; textId: number } | null {
    const block = this.#byHash.get(textHash(predecessor, tokenIds));
    if (!block?.text || !isText(block.text, predecessor, tokenIds)) return null;
    return { index: block.index, textId: block.text.id };
  }

  /**
   * Makes a full block findable by its text; it must not be written any more. When another block has
   * that text already, that one stays the one to be found.
   * @returns the name of the text that ends with the block; null when its hash is taken by another
   */
  register(index: number, predecessor: Predecessor, tokenIds: Int32Array): number | null {
    const hash = textHash(predecessor, tokenIds);
    const known = this.#byHash.get(hash)?.text;
    if (known) return isText(known, predecessor, tokenIds) ? known.id : null;
    const block = this.#block(index);
    block.text = { id: ++this.#lastTextId, hash, predecessor, tokenIds: tokenIds.slice() };
    this.#byHash.set(hash, block);
    return block.text.id;
  }

  /** Makes a block's text unfindable. */
  forget(index: number): void {
    const block = this.#block(index);
    if (!block.text) return;
    this.#byHash.delete(block.text.hash);
    block.text = null;
    if (this.#cached.delete(block)) this.#empty.push(block);
  }

  #evict(): Block | undefined {
    const [oldest] = this.#cached;
    if (oldest) this.forget(oldest.index);
    return this.#empty.pop();
  }

  #block(index: number): Block {
    const block = this.#blocks[index];
    if (!block) throw new RangeError(`there is no block ${index}`);
    return block;
  }
}

function textHash(predecessor: Predecessor, tokenIds: Int32Array): number {
  return blockHash(typeof predecessor === 'string' ? saltHash(predecessor) : predecessor, tokenIds);
}

function isText(text: BlockText, predecessor: Predecessor, tokenIds: Int32Array): boolean {
  return (
    text.predecessor === predecessor &&
    text.tokenIds.length === tokenIds.length &&
    text.tokenIds.every((tokenId, index) => tokenId === tokenIds[index])
  );
}
