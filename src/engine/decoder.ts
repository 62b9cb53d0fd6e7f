import type { BuiltModel, DecoderManifest } from '../model/manifest.ts';
import { Session } from '../ort/session.ts';
import type { SessionOptions } from '../ort/session-options.ts';
import type { StepTimings } from './cost-model.ts';
import { type KvShape, KvStorage } from './kv-storage.ts';
import { LogitsBuffer } from './logits-buffer.ts';
import { BLOCK_SIZE } from './prefix-index.ts';
import { RowBinding, type WantedLogits } from './row-binding.ts';
import type { LogitsRow } from './sampler.ts';
import type { Sequence } from './sequence.ts';
import {
  type CacheOperation,
  type DecodeRow,
  MAX_VERIFY_RUNS,
  type PrefillRun,
  type SequenceFailure,
  type StepPlan,
  type VerifyRun,
} from './step-plan.ts';

/** What a verify run computed beyond the logits of the sequence's next token. */
export interface VerifiedDraft {
  readonly sequence: Sequence;
  readonly draftTokenIds: Int32Array;
  /** [drafts][vocab]: the logits behind each draft token. The sampler may overwrite them. */
  readonly logits: readonly Float32Array[];
}

/** What running a plan gave: logits for every sequence that can now sample, and who failed. */
export interface StepResult {
  readonly rows: readonly LogitsRow[];
  /** Of the plan's verify runs that did not fail. */
  readonly verified?: readonly VerifiedDraft[];
  readonly failures: readonly SequenceFailure[];
  readonly timings: StepTimings;
}

/** Runs step plans. The engine's only view of the model. */
export interface Decoder {
  /** Rearranges the KV cache's memory; before `execute`. */
  rearrange(operations: readonly CacheOperation[]): void;
  /** Never throws for what a single sequence can cause: that sequence is reported as failed. */
  execute(plan: StepPlan): StepResult;
  release(): void;
}

export interface DecoderOptions {
  /** Rows of the KV cache. */
  readonly numRows: number;
  readonly maxModelLen: number;
  /** Descriptor of shared memory to keep the KV cache in; see kvShape. */
  readonly sharedMemory?: number | null;
  /** Longest draft that plans have; 0 if left out. */
  readonly maxDraftTokens?: number;
  readonly session?: SessionOptions;
}

/** The decoder over an ONNX Runtime session on the CPU, with the KV cache appended to in place. */
export class OnnxDecoder implements Decoder {
  readonly storage: KvStorage;
  readonly #session: Session;
  readonly #logits: LogitsBuffer;
  readonly #numRows: number;
  readonly #maxDraftTokens: number;
  /** By rows and wanted logits; made at first use, kept for good. */
  readonly #bindings = new Map<string, RowBinding>();

  constructor({ graphPath, manifest }: BuiltModel, options: DecoderOptions) {
    this.#session = new Session(graphPath, options.session);
    this.#numRows = options.numRows;
    this.#maxDraftTokens = options.maxDraftTokens ?? 0;
    const numLogits = this.#verifyLogitsRow(this.#maxDraftTokens > 0 ? MAX_VERIFY_RUNS : 0);
    this.#logits = new LogitsBuffer(numLogits, manifest.vocabSize);
    const shape = kvShape(manifest, options.numRows, options.maxModelLen);
    this.storage = new KvStorage(shape, options.sharedMemory ?? null);
  }

  rearrange(operations: readonly CacheOperation[]): void {
    for (const operation of operations) this.storage.apply(operation);
  }

  execute(plan: StepPlan): StepResult {
    const rows: LogitsRow[] = [];
    const verified: VerifiedDraft[] = [];
    const failures: SequenceFailure[] = [];
    const decodeMs = elapsed(() => {
      if (plan.decode.length > 0) this.#decode(0, plan.decode, rows, failures);
    });
    const prefillMs = plan.prefill.map((run) => elapsed(() => this.#prefill(run, rows, failures)));
    const verifyMs = (plan.verify ?? []).map((run, index) =>
      elapsed(() => this.#verify(run, index, rows, verified, failures)),
    );
    return { rows, verified, failures, timings: { decodeMs, prefillMs, verifyMs } };
  }

  /** One token for each of a range of rows. A run that fails is split, until only the culprit fails. */
  #decode(
    firstRow: number,
    decode: readonly DecodeRow[],
    rows: LogitsRow[],
    failures: SequenceFailure[],
  ): void {
    const binding = this.#binding(firstRow, decode.length);
    const inputIds = binding.inputIds(1);
    for (const [index, { sequence, position }] of decode.entries()) {
      const tokenId = sequence?.tokenIds(position, position + 1)[0] ?? 0;
      inputIds[index] = BigInt(tokenId);
      binding.seqlensK[index] = position;
    }
    const failure = attempt(() => binding.run(this.#session));
    if (failure === null) {
      for (const { sequence } of decode) {
        if (sequence) rows.push({ sequence, logits: this.#logits.row(sequence.row) });
      }
    } else if (decode.length === 1) {
      for (const { sequence } of decode)
        if (sequence) failures.push({ sequence, message: failure });
    } else {
      const half = decode.length >> 1;
      this.#decode(firstRow, decode.slice(0, half), rows, failures);
      this.#decode(firstRow + half, decode.slice(half), rows, failures);
    }
  }

  /** Chunks of prompts; logits count only if they are those of a sequence's last token. */
  #prefill(run: PrefillRun, rows: LogitsRow[], failures: SequenceFailure[]): void {
    const firstRow = Math.min(...run.map(({ sequence }) => sequence.row));
    const width = Math.max(...run.map(({ length }) => length));
    const binding = this.#binding(firstRow, run.length);
    const inputIds = binding.inputIds(width).fill(0n);
    for (const [index, { sequence, start, length }] of run.entries()) {
      const tokenIds = sequence.tokenIds(start, start + length);
      for (const [at, tokenId] of tokenIds.entries())
        inputIds[index * width + at] = BigInt(tokenId);
      binding.seqlensK[index] = start + length - 1;
      binding.wantLogits(index, length - 1);
    }
    const failure = attempt(() => binding.run(this.#session));
    for (const index of run.keys()) binding.wantLogits(index, 0);
    if (failure !== null && run.length > 1) {
      for (const chunk of run) this.#prefill([chunk], rows, failures);
      return;
    }
    for (const { sequence, start, length } of run) {
      if (failure !== null) failures.push({ sequence, message: failure });
      else if (start + length === sequence.numTokens) {
        rows.push({ sequence, logits: this.#logits.row(sequence.row) });
      }
    }
  }

  /** A sequence's last token and its draft, with the logits of every position. */
  #verify(
    { sequence, draftTokenIds }: VerifyRun,
    index: number,
    rows: LogitsRow[],
    verified: VerifiedDraft[],
    failures: SequenceFailure[],
  ): void {
    const position = sequence.numComputedTokens;
    const perRow = 1 + draftTokenIds.length;
    const logitsRow = this.#verifyLogitsRow(index);
    const binding = this.#binding(sequence.row, 1, { perRow, logitsRow });
    const inputIds = binding.inputIds(perRow);
    inputIds[0] = BigInt(sequence.tokenIds(position, position + 1)[0] ?? 0);
    for (const [at, tokenId] of draftTokenIds.entries()) inputIds[at + 1] = BigInt(tokenId);
    binding.seqlensK[0] = position + draftTokenIds.length;
    const failure = attempt(() => binding.run(this.#session));
    if (failure !== null) {
      failures.push({ sequence, message: failure });
      return;
    }
    rows.push({ sequence, logits: this.#logits.row(logitsRow) });
    const logits = Array.from(draftTokenIds, (_, at) => this.#logits.row(logitsRow + at + 1));
    verified.push({ sequence, draftTokenIds, logits });
  }

  /** Where the logits of a step's verify runs begin, behind those of the cache's rows. */
  #verifyLogitsRow(index: number): number {
    return this.#numRows + index * (1 + this.#maxDraftTokens);
  }

  #binding(
    firstRow: number,
    numRows: number,
    wanted: WantedLogits = { perRow: 1, logitsRow: firstRow },
  ): RowBinding {
    const key = `${firstRow}+${numRows}, ${wanted.perRow} at ${wanted.logitsRow}`;
    let binding = this.#bindings.get(key);
    if (!binding) {
      const { storage } = this;
      binding = new RowBinding(this.#session, storage, this.#logits, firstRow, numRows, wanted);
      this.#bindings.set(key, binding);
    }
    return binding;
  }

  release(): void {
    for (const binding of this.#bindings.values()) binding.release();
    this.#bindings.clear();
    this.#session.release();
    this.#logits.release();
    this.storage.release();
  }
}

/** The KV cache's shape for a model. */
export function kvShape(manifest: DecoderManifest, numRows: number, maxModelLen: number): KvShape {
  return {
    numLayers: manifest.numLayers,
    numKvHeads: manifest.numKvHeads,
    headDim: manifest.headDim,
    numRows,
    // Whole blocks, so that heads begin at page boundaries.
    capacity: Math.ceil(maxModelLen / BLOCK_SIZE) * BLOCK_SIZE,
  };
}

/** Runs `action`; returns how long it took, in milliseconds. */
function elapsed(action: () => void): number {
  const start = performance.now();
  action();
  return performance.now() - start;
}

/** Runs `action`; returns why it failed, or null. */
function attempt(action: () => void): string | null {
  try {
    action();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
