import type { PagedBatch } from '../../src/engine/gpu/paged/paged-batch.ts';
import type { BlockMove, PagedModel } from '../../src/engine/gpu/paged/paged-decoder.ts';
import type { Segment, SegmentLogits } from '../../src/engine/step.ts';
import { FAKE_VOCAB_SIZE, fakeNextToken } from './fake-decoder.ts';

/**
 * A paged model whose KV cache is the tokens themselves: blocks are really written, copied and read
 * through the block tables, so a wrong table, or a write to another's block, gives another text.
 */
export class FakePagedModel implements PagedModel {
  readonly blockSize: number;
  readonly vocabSize = FAKE_VOCAB_SIZE;
  readonly blocks: number[][];
  numRuns = 0;
  /** Runs that computed sequences with one token and sequences with several. */
  numMixedRuns = 0;
  readonly #onWrite: (block: number) => void;
  #logits: Float32Array[] = [];

  /** @param onWrite called before a block is written to */
  constructor(numBlocks: number, blockSize: number, onWrite: (block: number) => void = () => {}) {
    this.blockSize = blockSize;
    this.blocks = Array.from({ length: numBlocks }, () => []);
    this.#onWrite = onWrite;
  }

  run(batch: PagedBatch): void {
    const { tokenIds, cumulativeLengths, pastLengths, blockTable, tableWidth } = batch;
    const lengths = Array.from(
      pastLengths,
      (_, i) => at(cumulativeLengths, i + 1) - at(cumulativeLengths, i),
    );
    if (Math.max(...lengths) !== batch.maxQueryLength) throw new Error('wrong maxQueryLength');
    this.numRuns++;
    this.numMixedRuns += Number(lengths.includes(1) && batch.maxQueryLength > 1);
    const next: number[] = [];
    for (const [segment, past] of pastLengths.entries()) {
      const first = at(cumulativeLengths, segment);
      const table = blockTable.subarray(segment * tableWidth, (segment + 1) * tableWidth);
      for (let index = 0; index < at(lengths, segment); index++) {
        const position = past + index;
        if (position >= batch.maxTotalLength) throw new Error('wrong maxTotalLength');
        this.#write(table, position, at(tokenIds, first + index));
        next[first + index] = fakeNextToken(this.text(table, position + 1));
      }
    }
    this.#logits = Array.from(batch.logitsIndex, (place) => {
      const logits = new Float32Array(FAKE_VOCAB_SIZE);
      logits[at(next, place)] = 1;
      return logits;
    });
  }

  read(segments: readonly Segment[]): SegmentLogits[] {
    let row = 0;
    return segments.map((segment) => {
      const logits = Array.from({ length: segment.numLogits }, () => at(this.#logits, row++));
      return { segment, logits };
    });
  }

  copyBlocks(copies: readonly BlockMove[]): void {
    const read = copies.map(({ from }) => at(this.blocks, from).slice());
    for (const [index, { to }] of copies.entries()) {
      this.#onWrite(to);
      this.blocks[to] = at(read, index);
    }
  }

  /** The first `length` tokens that a block table leads to. */
  text(table: ArrayLike<number>, length: number): number[] {
    return Array.from({ length }, (_, position) => {
      const block = at(this.blocks, at(table, Math.floor(position / this.blockSize)));
      return at(block, position % this.blockSize);
    });
  }

  release(): void {}

  #write(table: Int32Array, position: number, tokenId: number): void {
    const block = at(table, Math.floor(position / this.blockSize));
    this.#onWrite(block);
    at(this.blocks, block)[position % this.blockSize] = tokenId;
  }
}

function at<T>(values: ArrayLike<T>, index: number): T {
  const value = values[index];
  if (value === undefined) throw new RangeError(`no element ${index} of ${values.length}`);
  return value;
}
