import type { PagedBatch } from '../../src/engine/gpu/paged/paged-batch.ts';
import type { PageMove, PagedModel } from '../../src/engine/gpu/paged/paged-decoder.ts';
import type { Segment, SegmentLogits } from '../../src/engine/step.ts';
import { FAKE_VOCAB_SIZE, fakeNextToken } from './fake-decoder.ts';

/**
 * A paged model whose KV cache is the tokens themselves: pages are really written, copied and read
 * through the page tables, so a wrong table, or a write to another's page, gives another text.
 */
export class FakePagedModel implements PagedModel {
  readonly pageLength: number;
  readonly vocabSize = FAKE_VOCAB_SIZE;
  readonly pages: number[][];
  numRuns = 0;
  /** Runs that computed sequences with one token and sequences with several. */
  numMixedRuns = 0;
  readonly #onWrite: (page: number) => void;
  #logits: Float32Array[] = [];

  /** @param onWrite called before a page is written to */
  constructor(numPages: number, pageLength: number, onWrite: (page: number) => void = () => {}) {
    this.pageLength = pageLength;
    this.pages = Array.from({ length: numPages }, () => []);
    this.#onWrite = onWrite;
  }

  run(batch: PagedBatch): void {
    const { tokenIds, cumulativeLengths, pastLengths, pageTable, tableWidth } = batch;
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
      const table = pageTable.subarray(segment * tableWidth, (segment + 1) * tableWidth);
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

  copyPages(copies: readonly PageMove[]): void {
    const read = copies.map(({ from }) => at(this.pages, from).slice());
    for (const [index, { to }] of copies.entries()) {
      this.#onWrite(to);
      this.pages[to] = at(read, index);
    }
  }

  /** The first `length` tokens that a page table leads to. */
  text(table: ArrayLike<number>, length: number): number[] {
    return Array.from({ length }, (_, position) => {
      const page = at(this.pages, at(table, Math.floor(position / this.pageLength)));
      return at(page, position % this.pageLength);
    });
  }

  release(): void {}

  #write(table: Int32Array, position: number, tokenId: number): void {
    const page = at(table, Math.floor(position / this.pageLength));
    this.#onWrite(page);
    at(this.pages, page)[position % this.pageLength] = tokenId;
  }
}

function at<T>(values: ArrayLike<T>, index: number): T {
  const value = values[index];
  if (value === undefined) throw new RangeError(`no element ${index} of ${values.length}`);
  return value;
}
