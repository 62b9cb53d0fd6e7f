import type { BuiltModel, DecoderManifest } from '../model/manifest.ts';
import { Session } from '../ort/session.ts';
import type { SessionOptions } from '../ort/session-options.ts';
import type { StepTimings } from './cost-model.ts';
import { type KvShape, KvStorage } from './kv-storage.ts';
import { LogitsBuffer } from './logits-buffer.ts';
import { BLOCK_SIZE } from './prefix-index.ts';
import { RowBinding } from './row-binding.ts';
import type { LogitsRow } from './sampler.ts';
import type {
  CacheOperation,
  DecodeRow,
  PrefillRun,
  SequenceFailure,
  StepPlan,
} from './step-plan.ts';

/** What running a plan gave: logits for every sequence that can now sample, and who failed. */
export interface StepResult {
  readonly rows: readonly LogitsRow[];
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
  readonly session?: SessionOptions;
}

/** The decoder over an ONNX Runtime session on the CPU, with the KV cache appended to in place. */
export class OnnxDecoder implements Decoder {
  readonly storage: KvStorage;
  readonly #session: Session;
  readonly #logits: LogitsBuffer;
  /** By first row and number of rows; made at first use, kept for good. */
  readonly #bindings = new Map<string, RowBinding>();

  constructor({ graphPath, manifest }: BuiltModel, options: DecoderOptions) {
    this.#session = new Session(graphPath, options.session);
    this.#logits = new LogitsBuffer(options.numRows, manifest.vocabSize);
    const shape = kvShape(manifest, options.numRows, options.maxModelLen);
    this.storage = new KvStorage(shape, options.sharedMemory ?? null);
  }

  rearrange(operations: readonly CacheOperation[]): void {
    for (const operation of operations) this.storage.apply(operation);
  }

  execute(plan: StepPlan): StepResult {
    const rows: LogitsRow[] = [];
    const failures: SequenceFailure[] = [];
    const decodeMs = elapsed(() => {
      if (plan.decode.length > 0) this.#decode(0, plan.decode, rows, failures);
    });
    const prefillMs = plan.prefill.map((run) => elapsed(() => this.#prefill(run, rows, failures)));
    return { rows, failures, timings: { decodeMs, prefillMs } };
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
      binding.logitsIndex[index] = BigInt(length - 1);
    }
    const failure = attempt(() => binding.run(this.#session));
    binding.logitsIndex.fill(0n);
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

  #binding(firstRow: number, numRows: number): RowBinding {
    const key = `${firstRow}+${numRows}`;
    let binding = this.#bindings.get(key);
    if (!binding) {
      binding = new RowBinding(this.#session, this.storage, this.#logits, firstRow, numRows);
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
