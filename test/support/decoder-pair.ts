import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import {
  DeviceDecoder,
  type DeviceDecoderOptions,
} from '../../src/engine/gpu/slots/device-decoder.ts';
import type { SamplingParams } from '../../src/engine/request.ts';
import { argmax } from '../../src/engine/sampling/argmax.ts';
import { Sampler } from '../../src/engine/sampling/sampler.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { withDraft } from '../../src/engine/drafter.ts';
import type { CacheOperation } from '../../src/engine/cache-operation.ts';
import { type Decoder, type Segment, segmentOf } from '../../src/engine/step.ts';
import type { SlotTable } from '../../src/engine/kv-cache/slot-table.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { engineRequest } from './engine-requests.ts';

/** Cells between decoding slots are nobody's. */
const HOLES: SlotTable = {
  ownerOf: () => null,
  grow: () => true,
  drainOperations: () => [],
};

/** The decoder on a device and the one on the CPU, driven in step; of two builds of one model. */
export class DecoderPair {
  readonly device: DeviceDecoder;
  readonly #cpu: CpuDecoder;
  readonly #sampler: Sampler;
  #numSequences = 0;
  /** Largest difference of a logit so far. */
  worst = 0;
  /** Largest logit so far, either way. */
  largest = 0;
  /** Rows compared so far, and those whose likeliest token was the same. */
  numRows = 0;
  numAlike = 0;

  constructor(model: BuiltModel, options: DeviceDecoderOptions, onCpu = model) {
    this.device = new DeviceDecoder(model, { ...options, slots: HOLES });
    this.#sampler = new Sampler(model.manifest.vocabSize);
    this.#cpu = new CpuDecoder(onCpu, {
      ...options,
      slots: HOLES,
      maxDraftTokens: options.maxDraftTokens ?? 0,
    });
  }

  /** A sequence in a slot, whose steps bring down all logits. */
  sequence(slot: number, promptTokenIds: readonly number[]): Sequence {
    const id = this.#numSequences++;
    const ids = Int32Array.from(promptTokenIds);
    const sequence = new Sequence(engineRequest({ id, promptTokenIds: ids, logprobs: 1 }));
    sequence.slot = slot;
    return sequence;
  }

  /** Computes the next tokens of a sequence; at its end the greedy one is appended. */
  prefill(sequence: Sequence, length = sequence.numUncomputedTokens): void {
    this.#execute([segmentOf(sequence, length)]);
    this.#advance(sequence, length);
  }

  /** One token each of the sequences in slots 0 and up; null is a dead slot. */
  decode(sequences: readonly (Sequence | null)[]): void {
    const live = sequences.filter((sequence) => sequence !== null);
    this.#execute(live.map((sequence) => segmentOf(sequence, 1)));
    for (const sequence of live) this.#advance(sequence, 1);
  }

  /** Verifies drafts; the sequence takes up the first `accepted` of them. */
  verify(sequence: Sequence, draftTokenIds: readonly number[], accepted: number): void {
    this.#execute([withDraft(segmentOf(sequence, 1), Int32Array.from(draftTokenIds))]);
    for (const tokenId of draftTokenIds.slice(0, accepted)) sequence.append(tokenId);
    this.#advance(sequence, 1 + accepted);
  }

  /**
   * Decodes one token of a slot for each set of parameters, in a fresh cache.
   * @returns what both decoders' logits lead to, in the order of the parameters
   */
  sample(params: readonly Partial<SamplingParams>[]): { cpu: number[]; device: number[] } {
    const segments = params.map((sampling, slot) => {
      const promptTokenIds = Int32Array.of(3 + slot);
      const sequence = new Sequence(engineRequest({ id: slot, promptTokenIds, sampling }));
      sequence.slot = slot;
      return segmentOf(sequence, 1);
    });
    const draw = (decoder: Decoder): number[] => {
      const { sampled } = this.#sampler.sample(decoder.execute({ cacheOperations: [], segments }));
      return segments.map(
        (segment) => sampled.find((one) => one.segment === segment)?.tokens[0]?.tokenId ?? -1,
      );
    };
    return { cpu: draw(this.#cpu), device: draw(this.device) };
  }

  rearrange(cacheOperations: readonly CacheOperation[]): void {
    this.#cpu.execute({ cacheOperations, segments: [] });
    this.device.execute({ cacheOperations, segments: [] });
  }

  readonly #next = new Map<Sequence, number>();

  #advance(sequence: Sequence, length: number): void {
    sequence.numComputedTokens += length;
    if (sequence.numUncomputedTokens === 0) sequence.append(this.#next.get(sequence) ?? 0);
  }

  #execute(segments: readonly Segment[]): void {
    const plan = { cacheOperations: [], segments };
    const expected = this.#cpu.execute(plan);
    const actual = this.device.execute(plan);
    const failed = [...expected.failures, ...actual.failures];
    if (failed.length > 0) throw new Error(failed[0]?.message);
    for (const { segment, logits } of expected.logits) {
      const found = actual.logits.find((other) => other.segment === segment);
      for (const [index, row] of logits.entries()) this.#compare(row, found?.logits[index]);
      this.#next.set(segment.sequence, argmax(logits[0] ?? new Float32Array()));
    }
  }

  #compare(expected: Float32Array, actual: Float32Array | undefined): void {
    this.numRows += 1;
    if (actual && argmax(actual) === argmax(expected)) this.numAlike += 1;
    for (const [id, logit] of expected.entries()) {
      const difference = Math.abs(logit - (actual?.[id] ?? NaN));
      if (!(difference <= this.worst)) this.worst = difference;
      this.largest = Math.max(this.largest, Math.abs(logit));
    }
  }

  release(): void {
    this.device.release();
    this.#cpu.release();
  }
}
