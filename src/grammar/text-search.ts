/** Finds texts in bytes that come one by one (Aho and Corasick, 1975). */

interface Node {
  readonly next: Map<number, number>;
  /** Index of the longest of the texts that end here; -1 for none. */
  found: number;
  /** Node of the longest shorter end of this one's text. */
  shorter: number;
}

export class TextSearch {
  readonly #nodes: Node[] = [newNode()];

  /** @param texts of bytes, none of them empty */
  constructor(texts: readonly Uint8Array[]) {
    for (const [index, text] of texts.entries()) this.#add(text, index);
    // From the short to the long: all of a shorter text's nodes are known.
    const order = [0];
    for (const at of order) {
      for (const [byte, child] of this.#nodeAt(at).next) {
        order.push(child);
        const node = this.#nodeAt(child);
        node.shorter = at === 0 ? 0 : this.step(this.#nodeAt(at).shorter, byte);
        if (node.found === -1) node.found = this.found(node.shorter);
      }
    }
  }

  /** State after one more byte; 0 is the first. */
  step(state: number, byte: number): number {
    for (let at = state; ; at = this.#nodeAt(at).shorter) {
      const next = this.#nodeAt(at).next.get(byte);
      if (next !== undefined) return next;
      if (at === 0) return 0;
    }
  }

  /** Index of the text that ends at this state, the longest of several; -1 for none. */
  found(state: number): number {
    return this.#nodeAt(state).found;
  }

  #add(text: Uint8Array, index: number): void {
    let at = 0;
    for (const byte of text) {
      const { next } = this.#nodeAt(at);
      let child = next.get(byte);
      if (child === undefined) {
        child = this.#nodes.push(newNode()) - 1;
        next.set(byte, child);
      }
      at = child;
    }
    this.#nodeAt(at).found = index;
  }

  #nodeAt(index: number): Node {
    const node = this.#nodes[index];
    if (node === undefined) throw new RangeError(`there is no state ${index}`);
    return node;
  }
}

function newNode(): Node {
  return { next: new Map(), found: -1, shorter: 0 };
}
