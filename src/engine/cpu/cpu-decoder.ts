import type { BuiltModel } from '../../model/manifest.ts';
import { readExternalInitializers } from '../../onnx/external-initializers.ts';
import type { Session } from '../../ort/session.ts';
import type { SessionOptions } from '../../ort/session-options.ts';
import { SharedWeights } from '../../ort/shared-weights.ts';
import { openGraph } from '../graph-session.ts';
import { kvShape } from '../kv-shape.ts';
import type { DecodeSlot } from '../kv-cache/slot-table.ts';
import { MAX_DRAFTS } from '../drafter.ts';
import type { TimedRun } from '../timed-run.ts';
import type { Decoder, Segment, StepPlan, StepResult } from '../step.ts';
import type { StateCache } from '../states/state-cache.ts';
import type { TokenOwners } from './adapter-mask.ts';
import { type AdapterLimits, AdapterSlots } from './adapter-slots.ts';
import { MAX_PLAIN_TOKENS, withPlainAttention } from './attention-path.ts';
import { embeddingWidthOf } from './embedding-inputs.ts';
import {
  fillDecode,
  fillSegments,
  ownersOf,
  paddedOwners,
  readsLogits,
  type WantedLogits,
} from './fill-run.ts';
import { KvStorage } from './kv-storage.ts';
import { hiddenSizeOf, LogitsBuffer, NO_LOGITS } from './logits-buffer.ts';
import { PredictionRunner } from './prediction-runner.ts';
import { fail, type Results } from './results.ts';
import { RunBinding } from './run-binding.ts';
import { RunBindings } from './run-bindings.ts';
import { fits, paddedWidth, type RunPadding, runPadding } from './run-padding.ts';
import { StatePools, statesOfSlots } from './state-pools.ts';
import {
  firstSlotOf,
  paddedSpans,
  SlotLayout,
  type SlotLayoutOptions,
  type SlotRun,
} from './slot-layout.ts';

export interface CpuDecoderOptions extends SlotLayoutOptions {
  /** Slots of the KV cache. */
  readonly numSlots: number;
  readonly maxModelLen: number;
  /** Descriptor of shared memory to keep the KV cache in; see kvShape. */
  readonly sharedMemoryFd?: number | null;
  /** Other processes map the same weights; false if left out. See SharedWeights. */
  readonly sharesWeights?: boolean;
  /** Tokens of the longest segment that plans have; short ones if left out. */
  readonly maxRunTokens?: number;
  /** Longest draft that plans have; 0 if left out. */
  readonly maxDraftTokens?: number;
  /** Limits on adapters, for a model that takes adapters at run time. */
  readonly adapters?: AdapterLimits | undefined;
  /** States of layers that have some. Without it texts only ever go on or begin anew. */
  readonly states?: StateCache | null;
  /** Give a prompt's tokens the same logits whatever its batch and its chunks are. */
  readonly reproducible?: boolean;
  readonly session?: SessionOptions;
}

/** The decoder over ONNX Runtime on the CPU, with the KV cache appended to in place. */
export class CpuDecoder implements Decoder {
  readonly storage: KvStorage;
  readonly weights: SharedWeights;
  /** Widths of the hidden state, and of embeddings in place of tokens; null if the graph has none. */
  readonly hiddenSize: number | null;
  readonly embeddingWidth: number | null;
  /** The model's module that predicts; null if none was built. */
  readonly prediction: PredictionRunner | null;
  readonly #layout: SlotLayout;
  readonly #session: Session;
  readonly #mixedSession: Session;
  /** For prefill runs of more than MAX_PLAIN_TOKENS. */
  readonly #longSession: Session | null;
  readonly #logits: LogitsBuffer;
  readonly #bindings: RunBindings;
  /** Over two groups: slots that decode, and slots that prefill. */
  readonly #mixedBinding: RunBinding;
  readonly #padding: RunPadding;
  /** Over slots that decode; null where no run needs one. */
  readonly #paddedBinding: RunBinding | null;
  readonly #paddingSlot: KvStorage | null;
  readonly #adapters: AdapterSlots | null;
  readonly #states: StatePools | null;

  constructor(model: BuiltModel, options: CpuDecoderOptions) {
    const { graphPath, mixedGraphPath, weightsFolder, manifest } = model;
    // Native kernels give a token the same bits however it is computed.
    const isNative = manifest.kernels === 'native';
    const reproducible = (options.reproducible ?? false) && !isNative;
    this.#layout = new SlotLayout({ ...options, reproducible });
    const initializers = readExternalInitializers(graphPath, weightsFolder);
    this.weights = new SharedWeights(initializers, options.sharesWeights);
    const open = (path: string) => openGraph(path, model, options.session, this.weights);
    this.#session = withPlainAttention(() => open(graphPath));
    this.#mixedSession = withPlainAttention(() => open(mixedGraphPath));
    const { numSlots, maxModelLen, maxRunTokens = 0, maxDraftTokens = 0 } = options;
    // Flash attention rounds differently from plain attention.
    const isLong = maxRunTokens > MAX_PLAIN_TOKENS && !reproducible && !isNative;
    this.#longSession = isLong ? open(graphPath) : null;
    this.#padding = runPadding(manifest, reproducible);
    const { isEven } = this.#padding;
    const numVerified = maxDraftTokens > 0 ? MAX_DRAFTS * (1 + maxDraftTokens) : 0;
    this.hiddenSize = hiddenSizeOf(this.#session);
    this.embeddingWidth = embeddingWidthOf(this.#session);
    const numRows = numSlots + numVerified + Number(isEven);
    this.#logits = new LogitsBuffer(numRows, manifest.vocabSize, this.hiddenSize);
    const shape = kvShape(manifest, numSlots, maxModelLen);
    this.storage = new KvStorage(shape, options.sharedMemoryFd ?? null);
    const { predictionGraphPath: path = null } = model;
    this.prediction =
      path === null
        ? null
        : new PredictionRunner(path, model, this.storage, this.weights, options.session);
    this.weights.trim();
    const { maxActive, maxCached } = options.adapters ?? { maxActive: 1, maxCached: 0 };
    this.#adapters = manifest.adapters
      ? new AdapterSlots(manifest.adapters, { maxActive, maxCached })
      : null;
    const { states: rows } = options;
    const states = rows
      ? { pools: new StatePools(manifest.states ?? [], rows.numRows), rows }
      : statesOfSlots(manifest, numSlots);
    this.#states = states?.pools ?? null;
    const memory = {
      storage: this.storage,
      logits: this.#logits,
      adapters: this.#adapters,
      states,
      hidden: this.prediction,
    };
    this.#bindings = new RunBindings(memory);
    const bindMixed = (prefilling: KvStorage) =>
      new RunBinding(this.#mixedSession, memory, prefilling);
    this.#mixedBinding = bindMixed(this.storage);
    this.#paddingSlot = isEven ? new KvStorage({ ...shape, numSlots: 1 }) : null;
    this.#paddedBinding = this.#paddingSlot && bindMixed(this.#paddingSlot);
  }

  execute({ cacheOperations, segments }: StepPlan): StepResult {
    for (const operation of cacheOperations) this.storage.apply(operation);
    const results: Results = { logits: [], failures: [], timedRuns: [] };
    const ready = this.#withAdapters(segments, results);
    const { decode, prefill, verify, cacheOperations: padding } = this.#layout.runsOf(ready);
    for (const operation of padding) this.storage.apply(operation);
    this.#logits.reset();
    const [first] = prefill;
    const isMixed = first && decode.length > 0 ? this.#mixed(decode, first, results) : false;
    if (decode.length > 0 && !isMixed) this.#decode(0, decode, results);
    for (const run of isMixed ? prefill.slice(1) : prefill) this.#prefill(run, results);
    for (const segment of verify) this.#verify(segment, results);
    return results;
  }

  /** Loads the adapters of a step. @returns the segments that have theirs */
  #withAdapters(segments: readonly Segment[], results: Results): readonly Segment[] {
    if (this.#adapters === null) return segments;
    const failures = this.#adapters.assign(segments);
    if (failures.size === 0) return segments;
    return segments.filter((segment) => {
      const message = failures.get(segment.sequence.request.adapter?.id ?? '');
      if (message !== undefined) fail([segment], message, results);
      return message === undefined;
    });
  }

  /** A decode run and a prefill run in one. Returns false when they are to run apart. */
  #mixed(decode: readonly DecodeSlot[], run: SlotRun, results: Results): boolean {
    const width = paddedWidth(run, this.#padding, decode.length);
    if (!fits(decode.length + run.length * width, this.#padding)) return false;
    const binding = this.#mixedBinding;
    const [decoding, prefilling] = [binding.group(0), binding.group(1)];
    decoding.bindSlots(0, decode.length);
    prefilling.bindSlots(firstSlotOf(run), run.length);
    const wanted = fillDecode(decoding, decode);
    // A dead slot must not write into what the same run prefills: after it nothing is kept.
    for (const { sequence, start, numTokens } of run) {
      const { slot } = sequence;
      if (slot < decode.length) decoding.setLength(slot, start + numTokens + 1);
    }
    wanted.push(...fillSegments(prefilling, run, width, decode.length));
    const work = { decode, prefill: paddedSpans(run, width), verify: [] };
    const owners = () => [...ownersOf(decode), ...paddedOwners(run, width)];
    return this.#run(binding, wanted, owners, work, results) === null;
  }

  /** One token for each of a range of slots. A run that fails is split until only the culprit fails. */
  #decode(firstSlot: number, decode: readonly DecodeSlot[], results: Results): void {
    const binding = this.#decodeBinding(firstSlot, decode.length);
    const wanted = fillDecode(binding.group(), decode);
    const work = { decode, prefill: [], verify: [] };
    const failure = this.#run(binding, wanted, () => ownersOf(decode), work, results);
    if (failure === null) return;
    if (decode.length === 1) {
      for (const { segment } of wanted) fail([segment], failure, results);
      return;
    }
    const half = decode.length >> 1;
    this.#decode(firstSlot, decode.slice(0, half), results);
    this.#decode(firstSlot + half, decode.slice(half), results);
  }

  #prefill(run: SlotRun, results: Results): void {
    const isLong = run.some(({ numTokens }) => numTokens > MAX_PLAIN_TOKENS);
    const session = isLong ? (this.#longSession ?? this.#session) : this.#session;
    const binding = this.#bindings.ofSlots(session, firstSlotOf(run), run.length);
    const width = paddedWidth(run, this.#padding);
    const wanted = fillSegments(binding.group(), run, width);
    const work = { decode: [], prefill: paddedSpans(run, width), verify: [] };
    const failure = this.#run(binding, wanted, () => paddedOwners(run, width), work, results);
    if (failure === null) return;
    if (run.length > 1) for (const segment of run) this.#prefill([segment], results);
    else fail(run, failure, results);
  }

  /** A sequence's last token and its draft, with the logits of every position. */
  #verify(segment: Segment, results: Results): void {
    const { sequence, start, numTokens: length } = segment;
    const width = paddedWidth([segment], this.#padding);
    const binding = this.#bindings.ofTokens(this.#session, sequence.slot, width);
    const wanted = fillSegments(binding.group(), [segment], width);
    const work = { decode: [], prefill: [], verify: [{ start, length }] };
    const owners = () => paddedOwners([segment], width);
    const failure = this.#run(binding, wanted, owners, work, results);
    if (failure !== null) fail([segment], failure, results);
  }

  /** Runs what is filled in and takes its logits. Returns why the run failed, or null. */
  #run(
    binding: RunBinding,
    wanted: readonly WantedLogits[],
    owners: TokenOwners,
    work: Omit<TimedRun, 'ms'>,
    { logits, timedRuns }: Results,
  ): string | null {
    const startedAt = performance.now();
    // No graph is made for a run without logits: the first token's are computed and not read.
    const places = wanted.length === 0 ? [0] : wanted.flatMap((segment) => segment.places);
    let row;
    try {
      row = this.#runFor(binding, places, owners, readsLogits(wanted));
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    const ms = performance.now() - startedAt;
    timedRuns.push({ ...work, ms });
    this.weights.settle(ms / 10);
    binding.deliverHidden();
    for (const { segment, places: own } of wanted) {
      const first = row;
      row += own.length;
      const rows = own.map((_, index) => first + index);
      logits.push({
        segment,
        logits: rows.map((at) => (binding.hasLogits ? this.#logits.row(at) : NO_LOGITS)),
        ...(binding.findsBest && { best: rows.map((at) => this.#logits.best(at)) }),
        hidden: this.#logits.hiddenRow(row - 1),
      });
    }
    return null;
  }

  /** As RunBinding.run, with a number of places that the padding asks for. */
  #runFor(binding: RunBinding, places: readonly number[], ...how: [TokenOwners, boolean]): number {
    if (fits(places.length, this.#padding)) return binding.run(places, ...how);
    const first = binding.run([...places, places.at(-1) ?? 0], ...how);
    this.#logits.giveBack(first + places.length);
    return first;
  }

  /** For one token of each slot. */
  #decodeBinding(firstSlot: number, numSlots: number): RunBinding {
    if (!this.#paddedBinding || fits(numSlots, this.#padding)) {
      return this.#bindings.ofSlots(this.#session, firstSlot, numSlots);
    }
    this.#paddedBinding.group().bindSlots(firstSlot, numSlots);
    const padding = this.#paddedBinding.group(1);
    padding.bindSlots(0, 1);
    padding.begin(1);
    padding.setLength(0, 1);
    return this.#paddedBinding;
  }

  release(): void {
    this.prediction?.release();
    this.#bindings.release();
    this.#mixedBinding.release();
    this.#paddedBinding?.release();
    this.#mixedSession.release();
    this.#longSession?.release();
    this.#session.release();
    this.weights.release();
    this.#logits.release();
    this.storage.release();
    this.#paddingSlot?.release();
    this.#adapters?.release();
    this.#states?.release();
  }
}
