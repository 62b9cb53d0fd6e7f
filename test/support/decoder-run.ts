import { InferenceSession, Tensor } from 'onnxruntime-node';
import { WANTS_LOGITS } from '../../src/model/native/best.ts';
import { mayOverflowInt8 } from '../../src/ort/cpu-features.ts';
import { ortEnvironment } from '../../src/ort/environment.ts';

/** The part of a manifest or configuration that says how big the cache is. */
export interface CacheShape {
  readonly numLayers: number;
  readonly numKvHeads: number;
  readonly headDim: number;
}

/** A step's rows: their new tokens (padded to equal length), and what came before them. */
export interface Step {
  readonly ids: readonly (readonly number[])[];
  /** Length of each row after the step. */
  readonly lengths: readonly number[];
  /** Position in `ids` of each row whose logits are wanted; the last if left out. */
  readonly wanted?: readonly number[];
}

/** Runs a decoder graph with onnxruntime-node's own session, with the cache copied at each step. */
export class DecoderRun {
  readonly #session: InferenceSession;
  #cache: Record<string, Tensor> = {};

  private constructor(session: InferenceSession) {
    this.#session = session;
  }

  static async create(
    graph: string,
    { numLayers, numKvHeads, headDim }: CacheShape,
    batch: number,
    capacity: number,
  ): Promise<DecoderRun> {
    // Two runtimes share the process's environment: ours is to be the one that makes it.
    ortEnvironment();
    const session = await InferenceSession.create(graph, {
      intraOpNumThreads: 1,
      // As our sessions have it: else products of int8 are cut off on CPUs without VNNI.
      extra: { session: { x64quantprecision: mayOverflowInt8() ? '1' : '0' } },
    });
    const run = new DecoderRun(session);
    const dims = [batch, numKvHeads, capacity, headDim];
    for (let layer = 0; layer < numLayers; layer++) {
      for (const kind of ['key', 'value']) {
        const zeros = new Float32Array(batch * numKvHeads * capacity * headDim);
        run.#cache[`${layer}.${kind}`] = new Tensor('float32', zeros, dims);
      }
    }
    return run;
  }

  /** Shape of every cache tensor. */
  get cacheDims(): (readonly number[])[] {
    return Object.values(this.#cache).map(({ dims }) => dims);
  }

  /** Runs a step; returns the logits row by row. */
  async step({ ids, lengths, wanted }: Step): Promise<Float32Array[]> {
    const batch = ids.length;
    const seq = ids[0]?.length ?? 0;
    const index = wanted ?? ids.map(() => seq - 1);
    const feeds: Record<string, Tensor> = {
      input_ids: new Tensor('int64', BigInt64Array.from(ids.flat().map(BigInt)), [batch, seq]),
      seqlens_k: new Tensor(
        'int32',
        Int32Array.from(lengths, (length) => length - 1),
        [batch],
      ),
      total_sequence_length: new Tensor('int32', Int32Array.of(Math.max(...lengths)), []),
      logits_index: new Tensor(
        'int64',
        BigInt64Array.from(index, (position, row) => BigInt(row * seq + position)),
        [batch],
      ),
    };
    if (this.#session.inputNames.includes(WANTS_LOGITS)) {
      feeds[WANTS_LOGITS] = new Tensor('int32', Int32Array.of(1), []);
    }
    for (const [name, tensor] of Object.entries(this.#cache)) {
      feeds[`past_key_values.${name}`] = tensor;
    }
    const outputs = await this.#session.run(feeds);
    for (const name of Object.keys(this.#cache)) {
      this.#cache[name] = output(outputs, `present.${name}`);
    }
    const { data, dims } = output(outputs, 'logits');
    if (!(data instanceof Float32Array)) {
      throw new TypeError('logits are not float32');
    }
    const vocab = dims[1] ?? 0;
    return ids.map((_, row) => data.slice(row * vocab, (row + 1) * vocab));
  }

  async release(): Promise<void> {
    await this.#session.release();
  }
}

function output(outputs: InferenceSession.OnnxValueMapType, name: string): Tensor {
  const value = outputs[name];
  if (!(value instanceof Tensor)) {
    throw new TypeError(`the graph has no output ${name}`);
  }
  return value;
}
