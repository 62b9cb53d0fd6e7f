import type { BuiltModel } from '../../model/manifest.ts';
import { readExternalInitializers } from '../../onnx/external-initializers.ts';
import type { Session } from '../../ort/session.ts';
import type { SessionOptions } from '../../ort/session-options.ts';
import { SharedWeights } from '../../ort/shared-weights.ts';
import { MAX_PLAIN_TOKENS, withPlainAttention } from './attention-path.ts';
import type { StepTimings } from '../scheduling/cost-model.ts';
import { openGraph } from '../graph-session.ts';
import { kvShape, KvStorage } from './kv-storage.ts';
import { LogitsBuffer } from './logits-buffer.ts';
import type { RowGroup } from './slot-group.ts';
import { RunBinding } from './run-binding.ts';
import { fits, paddedWidth, type RunPadding, runPadding } from './run-padding.ts';
import type { LogitsRow } from '../sampling/sampler.ts';
import type { Sequence } from '../sequence.ts';
import {
  type CacheOperation,
  type DecodeRow,
  MAX_VERIFY_RUNS,
  type PrefillRun,
  type SequenceFailure,
  type StepPlan,
  type VerifyRun,
} from '../step.ts';

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
  /** Tokens of the longest prefill run that plans have; short ones if left out. */
  readonly maxRunTokens?: number;
  /** Longest draft that plans have; 0 if left out. */
  readonly maxDraftTokens?: number;
  /** Give a prompt's tokens the same logits whatever runs beside them and however it is cut. */
  readonly reproducible?: boolean;
  readonly session?: SessionOptions;
}

/** The decoder over ONNX Runtime on the CPU, with the KV cache appended to in place. */
export class OnnxDecoder implements Decoder {
  readonly storage: KvStorage;
  readonly #weights: SharedWeights;
  readonly #session: Session;
  readonly #mixedSession: Session;
  /** For prefill runs of more than MAX_PLAIN_TOKENS. */
  readonly #longSession: Session | null;
  readonly #logits: LogitsBuffer;
  /** By rows, see #binding; made at first use, kept for good. */
  readonly #bindings = new Map<string, RunBinding>();
  /** Over two groups: rows that decode, and rows that prefill. */
  readonly #mixedBinding: RunBinding;
  readonly #padding: RunPadding;
  /** Over rows that decode, and a row of nobody's beside them; null where no run needs one. */
  readonly #paddedBinding: RunBinding | null;
  readonly #paddingRow: KvStorage | null;

  constructor(model: BuiltModel, options: DecoderOptions) {
    const { graphPath, mixedGraphPath, weightsFolder, manifest } = model;
    this.#weights = new SharedWeights(readExternalInitializers(graphPath, weightsFolder));
    const open = (path: string) => openGraph(path, model, options.session, this.#weights);
    this.#session = withPlainAttention(() => open(graphPath));
    this.#mixedSession = withPlainAttention(() => open(mixedGraphPath));
    const { numRows, maxModelLen, maxRunTokens = 0, maxDraftTokens = 0 } = options;
    const { reproducible = false } = options;
    // Flash attention rounds otherwise than the plain one.
    const isLong = maxRunTokens > MAX_PLAIN_TOKENS && !reproducible;
    this.#longSession = isLong ? open(graphPath) : null;
    this.#weights.trim();
    this.#padding = runPadding(manifest, reproducible);
    const { isEven } = this.#padding;
    const numVerified = maxDraftTokens > 0 ? MAX_VERIFY_RUNS * (1 + maxDraftTokens) : 0;
    this.#logits = new LogitsBuffer(numRows + numVerified + Number(isEven), manifest.vocabSize);
    const shape = kvShape(manifest, numRows, maxModelLen);
    this.storage = new KvStorage(shape, options.sharedMemory ?? null);
    const bindMixed = (prefilling: KvStorage) =>
      new RunBinding(this.#mixedSession, this.storage, this.#logits, prefilling);
    this.#mixedBinding = bindMixed(this.storage);
    this.#paddingRow = isEven ? new KvStorage({ ...shape, numRows: 1 }) : null;
    this.#paddedBinding = this.#paddingRow && bindMixed(this.#paddingRow);
  }

  rearrange(operations: readonly CacheOperation[]): void {
    for (const operation of operations) this.storage.apply(operation);
  }

  execute(plan: StepPlan): StepResult {
    this.#logits.reset();
    const rows: LogitsRow[] = [];
    const verified: VerifiedDraft[] = [];
    const failures: SequenceFailure[] = [];
    const [beside] = plan.decode.length > 0 ? plan.prefill : [];
    let isMixed = false;
    const mixedMs = elapsed(() => {
      if (beside) isMixed = this.#mixed(plan.decode, beside, rows);
    });
    const decodeMs = elapsed(() => {
      if (!isMixed && plan.decode.length > 0) this.#decode(0, plan.decode, rows, failures);
    });
    const prefillMs = plan.prefill.map((run) =>
      elapsed(() => {
        if (!isMixed || run !== beside) this.#prefill(run, rows, failures);
      }),
    );
    const verifyMs = (plan.verify ?? []).map((run) =>
      elapsed(() => this.#verify(run, rows, verified, failures)),
    );
    const timings = { decodeMs, prefillMs, verifyMs, mixedMs: isMixed ? mixedMs : null };
    return { rows, verified, failures, timings };
  }

  /** A decode run and a prefill run in one. Returns false when they are to run apart. */
  #mixed(decode: readonly DecodeRow[], run: PrefillRun, rows: LogitsRow[]): boolean {
    const width = paddedWidth(run, this.#padding, decode.length);
    if (!fits(decode.length + run.length * width, this.#padding)) return false;
    const binding = this.#mixedBinding;
    const [decoding, prefilling] = [binding.group(0), binding.group(1)];
    decoding.bindRows(0, decode.length);
    prefilling.bindRows(firstRowOf(run), run.length);
    const wanted = fillDecode(decoding, decode);
    // A dead row must not write into what the same run prefills: behind it nothing is kept.
    for (const { sequence, start, length } of run) {
      if (sequence.row < decode.length) decoding.setLength(sequence.row, start + length + 1);
    }
    const last = fillPrefill(prefilling, run, width);
    for (const { sequence, place } of last) wanted.push({ sequence, place: decode.length + place });
    return attempt(() => this.#runFor(binding, wanted, rows)) === null;
  }

  /** One token for each of a range of rows. A run that fails is split, until only the culprit fails. */
  #decode(
    firstRow: number,
    decode: readonly DecodeRow[],
    rows: LogitsRow[],
    failures: SequenceFailure[],
  ): void {
    const binding = this.#decodeBinding(firstRow, decode.length);
    const wanted = fillDecode(binding.group(), decode);
    const failure = attempt(() => this.#runFor(binding, wanted, rows));
    if (failure === null) return;
    if (decode.length === 1) {
      for (const { sequence } of wanted) failures.push({ sequence, message: failure });
      return;
    }
    const half = decode.length >> 1;
    this.#decode(firstRow, decode.slice(0, half), rows, failures);
    this.#decode(firstRow + half, decode.slice(half), rows, failures);
  }

  /** Chunks of prompts; logits count only if they are those of a sequence's last token. */
  #prefill(run: PrefillRun, rows: LogitsRow[], failures: SequenceFailure[]): void {
    const isLong = run.some(({ length }) => length > MAX_PLAIN_TOKENS);
    const session = isLong ? (this.#longSession ?? this.#session) : this.#session;
    const binding = this.#binding(firstRowOf(run), run.length, session);
    const wanted = fillPrefill(binding.group(), run, paddedWidth(run, this.#padding));
    const failure = attempt(() => this.#runFor(binding, wanted, rows));
    if (failure === null) return;
    if (run.length > 1) for (const chunk of run) this.#prefill([chunk], rows, failures);
    else for (const { sequence } of run) failures.push({ sequence, message: failure });
  }

  /** A sequence's last token and its draft, with the logits of every position. */
  #verify(
    { sequence, draftTokenIds }: VerifyRun,
    rows: LogitsRow[],
    verified: VerifiedDraft[],
    failures: SequenceFailure[],
  ): void {
    const position = sequence.numComputedTokens;
    const numTokens = 1 + draftTokenIds.length;
    const width = paddedWidth([{ length: numTokens }], this.#padding);
    const binding = this.#verifyBinding(sequence.row, width);
    const group = binding.group();
    const inputIds = group.inputIds(width).fill(0n);
    inputIds[0] = BigInt(sequence.tokenIds(position, position + 1)[0] ?? 0);
    for (const [at, tokenId] of draftTokenIds.entries()) inputIds[at + 1] = BigInt(tokenId);
    group.setLength(0, position + width);
    const failure = attempt(() => {
      const first = this.#run(
        binding,
        Array.from({ length: numTokens }, (_, place) => place),
      );
      rows.push({ sequence, logits: this.#logits.row(first) });
      const logits = Array.from(draftTokenIds, (_, at) => this.#logits.row(first + at + 1));
      verified.push({ sequence, draftTokenIds, logits });
    });
    if (failure !== null) failures.push({ sequence, message: failure });
  }

  /** Runs what is filled in, and hands out the logits of the sequences that can now sample. */
  #runFor(binding: RunBinding, wanted: readonly WantedLogits[], rows: LogitsRow[]): void {
    // No graph is made for a run without logits: the first token's are computed in vain.
    const first = this.#run(binding, wanted.length === 0 ? [0] : wanted.map(({ place }) => place));
    for (const [index, { sequence }] of wanted.entries()) {
      rows.push({ sequence, logits: this.#logits.row(first + index) });
    }
  }

  /** Runs what is filled in; see RunBinding.run. */
  #run(binding: RunBinding, places: readonly number[]): number {
    if (fits(places.length, this.#padding)) return binding.run(places);
    const first = binding.run([...places, places.at(-1) ?? 0]);
    this.#logits.giveBack(first + places.length);
    return first;
  }

  /** For one token of each row. */
  #decodeBinding(firstRow: number, numRows: number): RunBinding {
    if (!this.#paddedBinding || fits(numRows, this.#padding)) {
      return this.#binding(firstRow, numRows);
    }
    this.#paddedBinding.group().bindRows(firstRow, numRows);
    const beside = this.#paddedBinding.group(1);
    beside.bindRows(0, 1);
    beside.inputIds(1).fill(0n);
    beside.setLength(0, 1);
    return this.#paddedBinding;
  }

  /** One for each length, so that steps of changing lengths bind nothing anew. */
  #verifyBinding(row: number, numTokens: number): RunBinding {
    return this.#boundTo(`${row}x${numTokens}`, row, 1, this.#session);
  }

  #binding(firstRow: number, numRows: number, session = this.#session): RunBinding {
    // Padded runs and halves of failed ones are seldom the same twice: they share a binding.
    const rows = firstRow === 0 || numRows === 1 ? `${firstRow}+${numRows}` : 'several';
    return this.#boundTo(session === this.#session ? rows : 'long', firstRow, numRows, session);
  }

  #boundTo(key: string, firstRow: number, numRows: number, session: Session): RunBinding {
    let binding = this.#bindings.get(key);
    if (!binding) {
      binding = new RunBinding(session, this.storage, this.#logits);
      this.#bindings.set(key, binding);
    }
    binding.group().bindRows(firstRow, numRows);
    return binding;
  }

  release(): void {
    for (const binding of this.#bindings.values()) binding.release();
    this.#bindings.clear();
    this.#mixedBinding.release();
    this.#paddedBinding?.release();
    this.#mixedSession.release();
    this.#longSession?.release();
    this.#session.release();
    this.#weights.release();
    this.#logits.release();
    this.storage.release();
    this.#paddingRow?.release();
  }
}

/** A sequence that samples after a run, and the place of its last token in the run's token ids. */
interface WantedLogits {
  readonly sequence: Sequence;
  readonly place: number;
}

/** Fills in one token for each of the group's rows. */
function fillDecode(group: RowGroup, decode: readonly DecodeRow[]): WantedLogits[] {
  const inputIds = group.inputIds(1);
  const wanted: WantedLogits[] = [];
  for (const [place, { sequence, position }] of decode.entries()) {
    inputIds[place] = BigInt(sequence?.tokenIds(position, position + 1)[0] ?? 0);
    group.setLength(place, position + 1);
    if (sequence) wanted.push({ sequence, place });
  }
  return wanted;
}

/** Fills in chunks of prompts in neighbouring rows, padded to `width`. */
function fillPrefill(group: RowGroup, run: PrefillRun, width: number): WantedLogits[] {
  const longest = Math.max(...run.map(({ length }) => length));
  const inputIds = group.inputIds(width).fill(0n);
  const wanted: WantedLogits[] = [];
  for (const [index, { sequence, start, length }] of run.entries()) {
    const tokenIds = sequence.tokenIds(start, start + length);
    for (const [at, tokenId] of tokenIds.entries()) inputIds[index * width + at] = BigInt(tokenId);
    // A run's longest row has all of its tokens.
    group.setLength(index, start + (length === longest ? width : length));
    const isLast = start + length === sequence.numTokens;
    if (isLast) wanted.push({ sequence, place: index * width + length - 1 });
  }
  return wanted;
}

function firstRowOf(run: PrefillRun): number {
  return Math.min(...run.map(({ sequence }) => sequence.row));
}

/** Runs `action`; returns how long it took, in milliseconds. */
export function elapsed(action: () => void): number {
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
