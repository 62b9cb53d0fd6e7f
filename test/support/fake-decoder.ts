import type { Decoder, StepResult } from '../../src/engine/decoder.ts';
import type { LogitsRow } from '../../src/engine/sampler.ts';
import type { SequenceFailure, StepPlan } from '../../src/engine/step-plan.ts';

export const FAKE_VOCAB_SIZE = 97;

/** What the fake model says after a text: depends on every token and its place. */
export function fakeNextToken(tokenIds: Iterable<number>): number {
  let hash = 17;
  let position = 0;
  for (const tokenId of tokenIds) hash = (Math.imul(hash, 31) + tokenId * (++position + 7)) >>> 0;
  return hash % FAKE_VOCAB_SIZE;
}

/**
 * A model whose KV cache is the tokens themselves: rows are really written, moved and read, so a plan
 * that computes the wrong token, or reads a row another sequence wrote to, gives another text.
 */
export class FakeDecoder implements Decoder {
  readonly rows: number[][];
  readonly capacity: number;
  /** Sequences whose next run fails. */
  readonly failing = new Set<number>();

  constructor(numRows: number, capacity: number) {
    this.rows = Array.from({ length: numRows }, () => []);
    this.capacity = capacity;
  }

  execute(plan: StepPlan): StepResult {
    const rows: LogitsRow[] = [];
    const failures: SequenceFailure[] = [];
    for (const { from, to, length } of plan.moves) {
      this.rows[to] = this.#row(from).slice(0, length);
      this.rows[from] = [];
    }
    for (const [row, { sequence, position }] of plan.decode.entries()) {
      const tokenId = sequence ? (sequence.tokenIds(position, position + 1)[0] ?? -1) : -1;
      this.#write(row, position, [tokenId]);
      if (!sequence) continue;
      if (sequence.row !== row)
        throw new Error(`row ${row} decodes the sequence of ${sequence.row}`);
      if (this.failing.has(sequence.id)) failures.push({ sequence, message: 'made to fail' });
      else rows.push({ sequence, logits: this.#logits(row, position + 1) });
    }
    for (const { sequence, start, length } of plan.prefill) {
      this.#write(sequence.row, start, [...sequence.tokenIds(start, start + length)]);
      if (this.failing.has(sequence.id)) failures.push({ sequence, message: 'made to fail' });
      else if (start + length === sequence.numTokens) {
        rows.push({ sequence, logits: this.#logits(sequence.row, start + length) });
      }
    }
    return { rows, failures };
  }

  release(): void {}

  #row(row: number): number[] {
    const cells = this.rows[row];
    if (!cells) throw new Error(`there is no row ${row}`);
    return cells;
  }

  #write(row: number, position: number, tokenIds: number[]): void {
    if (position + tokenIds.length > this.capacity) throw new Error(`row ${row} overflows`);
    this.#row(row).splice(position, tokenIds.length, ...tokenIds);
  }

  #logits(row: number, length: number): Float32Array {
    const logits = new Float32Array(FAKE_VOCAB_SIZE);
    logits[fakeNextToken(this.#row(row).slice(0, length))] = 1;
    return logits;
  }
}
