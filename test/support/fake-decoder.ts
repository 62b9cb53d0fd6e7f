import type { Decoder, StepResult, VerifiedDraft } from '../../src/engine/cpu/cpu-decoder.ts';
import type { EngineRequest } from '../../src/engine/request.ts';
import type { LogitsRow } from '../../src/engine/sampling/sampler.ts';
import type { Sequence } from '../../src/engine/sequence.ts';
import type {
  CacheOperation,
  SequenceFailure,
  StepPlan,
  VerifyRun,
} from '../../src/engine/step.ts';

export const FAKE_VOCAB_SIZE = 97;

/** What the fake model says after a text: depends on every token and its place. */
export function fakeNextToken(tokenIds: Iterable<number>): number {
  let hash = 17;
  let position = 0;
  for (const tokenId of tokenIds) hash = (Math.imul(hash, 31) + tokenId * (++position + 7)) >>> 0;
  return hash % FAKE_VOCAB_SIZE;
}

/** What the request gives on an engine of its own. */
export function fakeContinuation({
  promptTokenIds,
  outputTokenIds,
  maxTokens,
  stopTokenIds,
}: EngineRequest): number[] {
  const text = [...promptTokenIds, ...outputTokenIds];
  const tokens: number[] = [];
  while (tokens.length + outputTokenIds.length < maxTokens) {
    const next = fakeNextToken(text);
    text.push(next);
    tokens.push(next);
    if (stopTokenIds.includes(next)) break;
  }
  return tokens;
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

  rearrange(operations: readonly CacheOperation[]): void {
    for (const operation of operations) this.#apply(operation);
  }

  execute(plan: StepPlan): StepResult {
    const rows: LogitsRow[] = [];
    const failures: SequenceFailure[] = [];
    for (const [row, { sequence, position }] of plan.decode.entries()) {
      const tokenId = sequence ? (sequence.tokenIds(position, position + 1)[0] ?? -1) : -1;
      this.#write(row, position, [tokenId]);
      if (!sequence) continue;
      if (sequence.row !== row)
        throw new Error(`row ${row} decodes the sequence of ${sequence.row}`);
      this.#finishRun(sequence, position + 1, rows, failures);
    }
    for (const run of plan.prefill) {
      const width = Math.max(...run.map(({ length }) => length));
      for (const [index, { sequence, start, length }] of run.entries()) {
        if (sequence.row !== (run[0]?.sequence.row ?? 0) + index)
          throw new Error('rows not adjacent');
        if (run.length > 1 && start !== 0) throw new Error('only fresh prompts run together');
        const padding = Array.from({ length: width - length }, () => -2);
        const tokenIds = [...sequence.tokenIds(start, start + length), ...padding];
        this.#write(sequence.row, start, tokenIds);
        this.#finishRun(sequence, start + length, rows, failures);
      }
    }
    const verify = plan.verify ?? [];
    const verified = verify.flatMap((run) => this.#verify(run, rows, failures));
    const prefillMs = plan.prefill.map(() => 1);
    return {
      rows,
      verified,
      failures,
      timings: { decodeMs: 1, prefillMs, verifyMs: verify.map(() => 1) },
    };
  }

  #verify(
    { sequence, draftTokenIds }: VerifyRun,
    rows: LogitsRow[],
    failures: SequenceFailure[],
  ): VerifiedDraft[] {
    const start = sequence.numComputedTokens;
    this.#write(sequence.row, start, [sequence.lastTokenId, ...draftTokenIds]);
    this.#finishRun(sequence, start + 1, rows, failures);
    if (this.failing.has(sequence.id)) return [];
    const logits = Array.from(draftTokenIds, (_, index) =>
      this.#logits(sequence.row, start + 2 + index),
    );
    return [{ sequence, draftTokenIds, logits }];
  }

  /** Blocks that hold anything. */
  touchedBlocks(blockSize: number): number {
    return this.rows.reduce((sum, cells) => sum + Math.ceil(cells.length / blockSize), 0);
  }

  #finishRun(
    sequence: Sequence,
    length: number,
    rows: LogitsRow[],
    failures: SequenceFailure[],
  ): void {
    if (this.failing.has(sequence.id)) failures.push({ sequence, message: 'made to fail' });
    else if (length === sequence.numTokens || sequence.scoresPrompt) {
      rows.push({ sequence, logits: this.#logits(sequence.row, length) });
    }
  }

  #apply(operation: CacheOperation): void {
    if (operation.type === 'discard') {
      this.#row(operation.row).splice(operation.start);
      return;
    }
    const copied = this.#row(operation.from).slice(0, operation.length);
    if (copied.length < operation.length) throw new Error(`row ${operation.from} is too short`);
    this.#row(operation.to).splice(0, operation.length, ...copied);
  }

  release(): void {}

  #row(row: number): number[] {
    const cells = this.rows[row];
    if (!cells) throw new Error(`there is no row ${row}`);
    return cells;
  }

  #write(row: number, position: number, tokenIds: number[]): void {
    if (position + tokenIds.length > this.capacity) throw new Error(`row ${row} overflows`);
    const cells = this.#row(row);
    if (position > cells.length) throw new Error(`row ${row} has a gap before ${position}`);
    cells.splice(position, tokenIds.length, ...tokenIds);
  }

  #logits(row: number, length: number): Float32Array {
    const logits = new Float32Array(FAKE_VOCAB_SIZE);
    logits[fakeNextToken(this.#row(row).slice(0, length))] = 1;
    return logits;
  }
}
