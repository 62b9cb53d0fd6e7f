import { OnnxDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import {
  DeviceDecoder,
  type DeviceDecoderOptions,
} from '../../src/engine/gpu/slots/device-decoder.ts';
import type { SamplingParams } from '../../src/engine/request.ts';
import { argmax, Sampler } from '../../src/engine/sampling/sampler.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import type { CacheOperation, StepPlan } from '../../src/engine/step.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { engineRequest } from './engine-requests.ts';

/** The decoder on a device and the one on the CPU, driven in step; of two builds of one model. */
export class DecoderPair {
  readonly device: DeviceDecoder;
  readonly #cpu: OnnxDecoder;
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
    this.device = new DeviceDecoder(model, options);
    this.#sampler = new Sampler(model.manifest.vocabSize);
    this.#cpu = new OnnxDecoder(onCpu, { ...options, maxDraftTokens: options.maxDraftTokens ?? 0 });
  }

  /** A sequence in a row, whose steps bring down all logits. */
  sequence(row: number, promptTokenIds: readonly number[]): Sequence {
    const id = this.#numSequences++;
    const ids = Int32Array.from(promptTokenIds);
    const sequence = new Sequence(engineRequest({ id, promptTokenIds: ids, logprobs: 1 }));
    sequence.row = row;
    return sequence;
  }

  /** Computes the next tokens of a sequence; at its end the greedy one is appended. */
  prefill(sequence: Sequence, length = sequence.numUncomputedTokens): void {
    this.#execute({ prefill: [[{ sequence, start: sequence.numComputedTokens, length }]] });
    this.#advance(sequence, length);
  }

  /** One token each of the sequences in rows 0 and up; null is a dead row. */
  decode(sequences: readonly (Sequence | null)[]): void {
    const position = (sequence: Sequence | null) => sequence?.numComputedTokens ?? 0;
    const decode = sequences.map((sequence) => ({ sequence, position: position(sequence) }));
    this.#execute({ decode });
    for (const sequence of sequences) if (sequence) this.#advance(sequence, 1);
  }

  /** Verifies drafts; the sequence takes up the first `accepted` of them. */
  verify(sequence: Sequence, draftTokenIds: readonly number[], accepted: number): void {
    this.#execute({ verify: [{ sequence, draftTokenIds: Int32Array.from(draftTokenIds) }] });
    for (const tokenId of draftTokenIds.slice(0, accepted)) sequence.append(tokenId);
    this.#advance(sequence, 1 + accepted);
  }

  /**
   * Decodes one token of a row for each set of parameters, in a fresh cache.
   * @returns what both decoders' logits lead to, in the order of the parameters
   */
  sample(params: readonly Partial<SamplingParams>[]): { cpu: number[]; device: number[] } {
    const decode = params.map((sampling, row) => {
      const promptTokenIds = Int32Array.of(3 + row);
      const sequence = new Sequence(engineRequest({ id: row, promptTokenIds, sampling }));
      sequence.row = row;
      return { sequence, position: 0 };
    });
    const plan = { cacheOperations: [], decode, prefill: [], numBatchedTokens: decode.length };
    const draw = (decoder: DeviceDecoder | OnnxDecoder): number[] => {
      const { sampled } = this.#sampler.sample(decoder.execute(plan).rows);
      return decode.map(
        ({ sequence }) => sampled.find((token) => token.sequence === sequence)?.tokenId ?? -1,
      );
    };
    return { cpu: draw(this.#cpu), device: draw(this.device) };
  }

  rearrange(operations: readonly CacheOperation[]): void {
    this.#cpu.rearrange(operations);
    this.device.rearrange(operations);
  }

  readonly #next = new Map<Sequence, number>();

  #advance(sequence: Sequence, length: number): void {
    sequence.numComputedTokens += length;
    if (sequence.numUncomputedTokens === 0) sequence.append(this.#next.get(sequence) ?? 0);
  }

  #execute(work: Partial<StepPlan>): void {
    const plan = { cacheOperations: [], decode: [], prefill: [], numBatchedTokens: 0, ...work };
    const expected = this.#cpu.execute(plan);
    const actual = this.device.execute(plan);
    const failed = [...expected.failures, ...actual.failures];
    if (failed.length > 0) throw new Error(failed[0]?.message);
    for (const { sequence, logits } of expected.rows) {
      const row = actual.rows.find((other) => other.sequence === sequence);
      this.#compare(logits, row?.logits);
      this.#next.set(sequence, argmax(logits));
    }
    for (const [index, { logits }] of (expected.verified ?? []).entries()) {
      for (const [at, behind] of logits.entries()) {
        this.#compare(behind, actual.verified?.[index]?.logits[at]);
      }
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
