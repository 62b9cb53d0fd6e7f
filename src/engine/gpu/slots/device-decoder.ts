import { kvNames } from '../../../model/graph/kv-names.ts';
import type { BuiltModel } from '../../../model/manifest.ts';
import { Allocator } from '../../../ort/allocator.ts';
import { MemoryInfo } from '../../../ort/memory-info.ts';
import type { Session } from '../../../ort/session.ts';
import type { SessionOptions } from '../../../ort/session-options.ts';
import { Tensor } from '../../../ort/tensor.ts';
import { vulkanDevices } from '../../../ort/vulkan-devices.ts';
import { openGraph } from '../../graph-session.ts';
import { kvShape } from '../../kv-shape.ts';
import { type DecodeSlot, layOutDecode, type SlotTable } from '../../kv-cache/slot-table.ts';
import type { TimedRun } from '../../timed-run.ts';
import {
  type Decoder,
  type Segment,
  type SegmentLogits,
  type SequenceFailure,
  type StepPlan,
  type StepResult,
  tokenIdsOf,
} from '../../step.ts';
import { CACHE_ADVICE, setUpOnDevice } from '../device-error.ts';
import { type DeviceOptions, executionProviders } from '../device-options.ts';
import type { BusTraffic } from '../device-run.ts';
import { DeviceTopK } from '../device-top-k.ts';
import { runnable } from '../token-range.ts';
import { CacheRun } from './cache-run.ts';
import { DeviceKvStorage } from './device-kv-storage.ts';
import { GraphCapture } from './graph-capture.ts';

export interface DeviceDecoderOptions {
  readonly device: DeviceOptions;
  /** Slots of the KV cache. */
  readonly numSlots: number;
  /** Owners of the slots; null where that is not known: then only neighbours decode together. */
  readonly slots?: SlotTable | null;
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
  readonly #topK: DeviceTopK;
  readonly #capture: GraphCapture | null;
  readonly #slots: SlotTable | null;
  readonly #vocabSize: number;
  /** Tokens of one sequence that are run at once at most. */
  readonly #longestRun: number;
  /** By place, slots and wanted logits; made at first use, kept for good. */
  readonly #runs = new Map<string, CacheRun>();

  /** @throws DeviceError when the graph can't be loaded, does not run, or the device lacks memory */
  constructor(built: BuiltModel, options: DeviceDecoderOptions) {
    const { graphPath, manifest } = built;
    const { device, numSlots, maxModelLen, maxDraftTokens = 0 } = options;
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
        `${device.name} has no attention for this graph and would leave it to the CPU, with the cache`,
      );
    }
    this.#allocator = new Allocator(this.#session, memory);
    this.#capture = device.graphCapture
      ? setUpModel(() => new GraphCapture(device, this.#allocator, this.traffic))
      : null;
    this.#slots = options.slots ?? null;
    this.#vocabSize = manifest.vocabSize;
    this.#longestRun = isSoftware(device) ? LONGEST_SOFTWARE_RUN : Infinity;
    const numLogits = Math.max(numSlots, 1 + maxDraftTokens);
    [this.#logits, this.#topK] = setUpModel(() => {
      const logits = Tensor.allocate('float', [numLogits, this.#vocabSize], this.#allocator);
      return [logits, new DeviceTopK(logits, session, this.traffic)];
    });
    const shape = kvShape(manifest, numSlots, maxModelLen);
    const mebibytes = Math.ceil(DeviceKvStorage.byteLength(shape) / 2 ** 20);
    this.storage = setUpOnDevice(
      `a KV cache of ${mebibytes} MiB (${numSlots} slots of ${maxModelLen} positions, and one more) ` +
        `next to the model on ${device.name}`,
      CACHE_ADVICE,
      () => new DeviceKvStorage(shape, this.#allocator, session, this.traffic),
    );
    // A warm-up token: what the device cannot run is found at the start.
    setUpModel(() => this.#run('decode', 1, 1).run([0], [0], 0));
    Object.assign(this.traffic, { bytesUp: 0, bytesDown: 0 });
  }

  execute({ cacheOperations, segments }: StepPlan): StepResult {
    for (const operation of cacheOperations) this.storage.apply(operation);
    const logits: SegmentLogits[] = [];
    const failures: SequenceFailure[] = [];
    const timedRuns: TimedRun[] = [];
    const isDecoding = ({ numTokens, numLogits }: Segment) => numTokens === 1 && numLogits === 1;
    const certain = runnable(segments, this.#vocabSize, failures);
    const { run, others } = layOutDecode(certain.filter(isDecoding), this.#slots);
    if (run.length > 0) this.#decode(run, logits, timedRuns);
    for (const segment of [...others, ...certain.filter((one) => !isDecoding(one))]) {
      this.#runAlone(segment, logits, timedRuns);
    }
    return { logits, failures, timedRuns };
  }

  #decode(run: readonly DecodeSlot[], logits: SegmentLogits[], timedRuns: TimedRun[]): void {
    const startedAt = performance.now();
    const tokenIds = run.map(({ segment }) => (segment ? (tokenIdsOf(segment)[0] ?? 0) : 0));
    const lastPositions = run.map(({ start }) => start);
    this.#run('decode', run.length, run.length).run(tokenIds, lastPositions, 0);
    logits.push(...this.#topK.read(run.map(({ segment }) => segment)));
    timedRuns.push({ decode: run, prefill: [], verify: [], ms: performance.now() - startedAt });
  }

  /** Part of a prompt, or a token with its draft. */
  #runAlone(segment: Segment, logits: SegmentLogits[], timedRuns: TimedRun[]): void {
    const startedAt = performance.now();
    const { start, numTokens, draftTokenIds } = segment;
    const tokenIds = tokenIdsOf(segment);
    const isDraft = draftTokenIds.length > 0;
    // A draft is short, and its logits are wanted together.
    const longest = isDraft ? numTokens : this.#longestRun;
    for (let from = 0; from < numTokens; from += longest) {
      this.#runPart(segment, tokenIds, from, Math.min(numTokens, from + longest));
    }
    if (segment.numLogits > 0) logits.push(...this.#topK.read([segment]));
    const span = [{ start, length: numTokens }];
    const work = isDraft ? { prefill: [], verify: span } : { prefill: span, verify: [] };
    timedRuns.push({ decode: [], ...work, ms: performance.now() - startedAt });
  }

  /** Runs some of a segment's tokens. The logits that it wants, or the last one's, come first. */
  #runPart(segment: Segment, tokenIds: Int32Array, from: number, to: number): void {
    const { sequence, start, numLogits, draftTokenIds } = segment;
    const part = tokenIds.subarray(from, to);
    const numWanted = Math.max(1, Math.min(numLogits, part.length));
    const firstWanted = part.length - numWanted;
    const end = start + to;
    if (sequence.slot === 0) {
      this.#run('slots', 1, numWanted).run(part, [end - 1], firstWanted);
      return;
    }
    this.storage.load(sequence, start + from);
    this.#run('staging', 1, numWanted).run(part, [end - 1], firstWanted);
    this.storage.store(sequence, end, end - draftTokenIds.length);
  }

  /** @param place the first slots, with one token each (`decode`) or any number; or the staging slot */
  #run(place: 'decode' | 'slots' | 'staging', numSlots: number, numWanted: number): CacheRun {
    const key = `${place} ${numSlots} ${numWanted}`;
    let run = this.#runs.get(key);
    if (!run) {
      const cache =
        place === 'staging' ? this.storage.staging() : this.storage.firstSlots(numSlots);
      const logits = Tensor.overStartOf('float', [numWanted, this.#vocabSize], this.#logits);
      const capture = this.#capture;
      const mode = capture && (place === 'decode' ? capture.decode(numSlots) : capture.eager);
      run = new CacheRun(this.#session, cache, logits, this.traffic, mode);
      this.#runs.set(key, run);
    }
    return run;
  }

  release(): void {
    for (const run of this.#runs.values()) run.release();
    this.#runs.clear();
    this.#topK.release();
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
