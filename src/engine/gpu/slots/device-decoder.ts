import { kvNames } from '../../../model/kv-names.ts';
import type { BuiltModel } from '../../../model/manifest.ts';
import { Allocator } from '../../../ort/allocator.ts';
import { MemoryInfo } from '../../../ort/memory-info.ts';
import type { Session } from '../../../ort/session.ts';
import type { SessionOptions } from '../../../ort/session-options.ts';
import { Tensor } from '../../../ort/tensor.ts';
import { vulkanDevices } from '../../../ort/vulkan-devices.ts';
import { CacheRun } from './cache-run.ts';
import {
  type Decoder,
  elapsed,
  type StepResult,
  type VerifiedDraft,
} from '../../cpu/cpu-decoder.ts';
import { type DeviceOptions, executionProviders } from '../device-options.ts';
import { CACHE_ADVICE, setUpOnDevice } from '../device-error.ts';
import { DeviceKvStorage } from './device-kv-storage.ts';
import type { BusTraffic } from '../device-run.ts';
import { GraphCapture } from './graph-capture.ts';
import { openGraph } from '../../graph-session.ts';
import { kvShape } from '../../cpu/kv-storage.ts';
import type { LogitsRow } from '../../sampling/sampler.ts';
import { SamplingHead } from '../device-top-k.ts';
import type { Sequence } from '../../sequence.ts';
import type {
  CacheOperation,
  DecodeRow,
  PrefillChunk,
  SequenceFailure,
  StepPlan,
  VerifyRun,
} from '../../step.ts';

export interface DeviceDecoderOptions {
  readonly device: DeviceOptions;
  /** Rows of the KV cache. */
  readonly numRows: number;
  readonly maxModelLen: number;
  /** Longest draft that plans have; 0 if left out. */
  readonly maxDraftTokens?: number;
  readonly session?: SessionOptions;
}

/**
 * From 32 tokens on ONNX Runtime's attention for WebGPU is another kernel, which the software driver
 * computes wrongly: logits were off by up to 4e-2.
 */
const LONGEST_SOFTWARE_RUN = 16;

const MODEL_ADVICE = 'Use --device cpu, or a --precision of fewer bits';

/**
 * The decoder over a session on a device, with the KV cache and the logits in the device's memory.
 * A step sends token ids and lengths, and gets back what its sampling needs.
 *
 * A run that fails is not one sequence's fault there: it throws a DeviceError, which ends the engine.
 */
export class DeviceDecoder implements Decoder {
  readonly storage: DeviceKvStorage;
  readonly traffic: BusTraffic = { bytesUp: 0, bytesDown: 0 };
  readonly #session: Session;
  readonly #allocator: Allocator;
  readonly #logits: Tensor;
  readonly #head: SamplingHead;
  readonly #capture: GraphCapture | null;
  readonly #vocabSize: number;
  /** Tokens of one sequence that are run at once at most. */
  readonly #longestRun: number;
  /** By place, rows and wanted logits; made at first use, kept for good. */
  readonly #runs = new Map<string, CacheRun>();

  /** @throws DeviceError when the graph can't be loaded, does not run, or the device lacks memory */
  constructor(built: BuiltModel, options: DeviceDecoderOptions) {
    const { graphPath, manifest } = built;
    const { device, numRows, maxModelLen, maxDraftTokens = 0 } = options;
    const session = { ...options.session, providers: executionProviders(device) };
    const decoding = device.graphCapture
      ? { ...session, providers: executionProviders(GraphCapture.optionsOf(device)) }
      : session;
    const model = `the ${manifest.precision} model on ${device.name}`;
    const setUpModel = <R>(action: () => R) => setUpOnDevice(model, MODEL_ADVICE, action);
    this.#session = setUpModel(() => openGraph(graphPath, built, decoding));
    const [cacheInput = ''] = kvNames('past_key_values', manifest.numLayers);
    const memory = MemoryInfo.ofInput(this.#session, cacheInput);
    if (memory.isCpu && device.name !== 'cpu') {
      throw new Error(
        `${device.name} has no attention for this graph and would leave it to the CPU, cache and all`,
      );
    }
    this.#allocator = new Allocator(this.#session, memory);
    this.#capture = device.graphCapture
      ? setUpModel(() => new GraphCapture(device, this.#allocator, this.traffic))
      : null;
    this.#vocabSize = manifest.vocabSize;
    this.#longestRun = isSoftware(device) ? LONGEST_SOFTWARE_RUN : Infinity;
    const numLogits = Math.max(numRows, 1 + maxDraftTokens);
    [this.#logits, this.#head] = setUpModel(() => {
      const logits = Tensor.allocate('float', [numLogits, this.#vocabSize], this.#allocator);
      return [logits, new SamplingHead(logits, session, this.traffic)];
    });
    const shape = kvShape(manifest, numRows, maxModelLen);
    const mebibytes = Math.ceil(DeviceKvStorage.byteLength(shape) / 2 ** 20);
    this.storage = setUpOnDevice(
      `a KV cache of ${mebibytes} MiB (${numRows} rows of ${maxModelLen} positions, and one more) ` +
        `beside the model on ${device.name}`,
      CACHE_ADVICE,
      () => new DeviceKvStorage(shape, this.#allocator, session, this.traffic),
    );
    // A token that nobody asked for: what the device can not run is told at the start.
    setUpModel(() => this.#run('decode', 1, 1).run([0], [0], 0));
    Object.assign(this.traffic, { bytesUp: 0, bytesDown: 0 });
  }

  rearrange(operations: readonly CacheOperation[]): void {
    for (const operation of operations) this.storage.apply(operation);
  }

  execute(plan: StepPlan): StepResult {
    const rows: LogitsRow[] = [];
    const verified: VerifiedDraft[] = [];
    const failures: SequenceFailure[] = [];
    const decodeMs = elapsed(() => {
      if (plan.decode.length > 0) this.#decode(plan.decode, rows, failures);
    });
    const prefillMs = plan.prefill.map((run) =>
      elapsed(() => {
        // Fresh prompts that could be padded to one run lie in rows that can't be bound together.
        for (const chunk of run) this.#prefill(chunk, rows, failures);
      }),
    );
    const verifyMs = (plan.verify ?? []).map((run) =>
      elapsed(() => this.#verify(run, rows, verified)),
    );
    return { rows, verified, failures, timings: { decodeMs, prefillMs, verifyMs } };
  }

  #decode(decode: readonly DecodeRow[], rows: LogitsRow[], failures: SequenceFailure[]): void {
    const wanted = decode.map(({ sequence, position }) =>
      sequence && this.#isRunnable(sequence, position, position + 1, failures) ? sequence : null,
    );
    const tokenIds = decode.map(({ position }, row) => wanted[row]?.tokenIds(position)[0] ?? 0);
    const lastPositions = decode.map(({ position }) => position);
    this.#run('decode', decode.length, decode.length).run(tokenIds, lastPositions, 0);
    rows.push(...this.#head.read(wanted));
  }

  /** A chunk of a prompt; logits count only if they are those of the sequence's last token. */
  #prefill(
    { sequence, start, length }: PrefillChunk,
    rows: LogitsRow[],
    failures: SequenceFailure[],
  ): void {
    const end = start + length;
    if (!this.#isRunnable(sequence, start, end, failures)) return;
    for (let from = start; from < end; from += this.#longestRun) {
      const to = Math.min(end, from + this.#longestRun);
      const tokenIds = sequence.tokenIds(from, to);
      this.#runAlone(sequence, from, tokenIds, to - from - 1, to - from);
    }
    if (end === sequence.numTokens) rows.push(...this.#head.read([sequence]));
  }

  /** A sequence's last token and its draft, with the logits of every position. */
  #verify(
    { sequence, draftTokenIds }: VerifyRun,
    rows: LogitsRow[],
    verified: VerifiedDraft[],
  ): void {
    const start = sequence.numComputedTokens;
    const tokenIds = [...sequence.tokenIds(start, start + 1), ...draftTokenIds];
    this.#runAlone(sequence, start, tokenIds, 0, 1);
    const [next, ...behind] = this.#head.readWhole(sequence, tokenIds.length);
    if (!next) return;
    rows.push(next);
    verified.push({ sequence, draftTokenIds, logits: behind.map(({ logits }) => logits) });
  }

  /**
   * Runs tokens of one sequence on top of its first `start` positions; the logits of those from
   * `firstWanted` on come first in the buffer.
   * @param certain how many of the tokens are the sequence's own
   */
  #runAlone(
    sequence: Sequence,
    start: number,
    tokenIds: ArrayLike<number>,
    firstWanted: number,
    certain: number,
  ): void {
    const numWanted = tokenIds.length - firstWanted;
    const end = start + tokenIds.length;
    if (sequence.row === 0) {
      this.#run('rows', 1, numWanted).run(tokenIds, [end - 1], firstWanted);
      return;
    }
    this.storage.load(sequence, start);
    this.#run('staging', 1, numWanted).run(tokenIds, [end - 1], firstWanted);
    this.storage.store(sequence, end, start + certain);
  }

  /** Devices don't check token ids: one outside of the vocabulary would read what lies there. */
  #isRunnable(
    sequence: Sequence,
    start: number,
    end: number,
    failures: SequenceFailure[],
  ): boolean {
    const outside = sequence.tokenIds(start, end).find((id) => id < 0 || id >= this.#vocabSize);
    if (outside === undefined) return true;
    const message = `token ${outside} is out of range: the vocabulary has ${this.#vocabSize}`;
    failures.push({ sequence, message });
    return false;
  }

  /** @param place the first rows, with one token each (`decode`) or any number; or the staging row */
  #run(place: 'decode' | 'rows' | 'staging', numRows: number, numWanted: number): CacheRun {
    const key = `${place} ${numRows} ${numWanted}`;
    let run = this.#runs.get(key);
    if (!run) {
      const cache = place === 'staging' ? this.storage.staging() : this.storage.rows(numRows);
      const logits = Tensor.overStartOf('float', [numWanted, this.#vocabSize], this.#logits);
      const capture = this.#capture;
      const mode = capture && (place === 'decode' ? capture.decode(numRows) : capture.eager);
      run = new CacheRun(this.#session, cache, logits, this.traffic, mode);
      this.#runs.set(key, run);
    }
    return run;
  }

  release(): void {
    for (const run of this.#runs.values()) run.release();
    this.#runs.clear();
    this.#head.release();
    this.storage.release();
    this.#logits.release();
    this.#capture?.release();
    this.#allocator.release();
    this.#session.release();
  }
}

/** Whether WebGPU has nothing but a driver that computes on the CPU. */
function isSoftware({ name }: DeviceOptions): boolean {
  if (name !== 'webgpu' || process.platform !== 'linux') return false;
  return vulkanDevices().every((device) => device.isSoftware);
}
