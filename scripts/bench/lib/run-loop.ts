import ort from 'onnxruntime-node';
import { ortEnvironment } from '../../../src/ort/environment.ts';
import type { BuiltModel } from '../../../src/model/manifest.ts';

/**
 * The decoder graph as onnxruntime-node's own API drives it at its best: inputs and outputs made
 * once, outputs preallocated as `fetches`, and the caches swapped after every step.
 */
export class RunLoop {
  readonly #session: ort.InferenceSession;
  readonly #kvNames: readonly string[];
  readonly #rows: number;
  readonly #logits: ort.Tensor;
  #past: ort.Tensor[];
  #present: ort.Tensor[];

  private constructor(
    session: ort.InferenceSession,
    { manifest }: BuiltModel,
    rows: number,
    capacity: number,
  ) {
    const { numLayers, numKvHeads, headDim, vocabSize } = manifest;
    this.#session = session;
    this.#rows = rows;
    this.#kvNames = Array.from({ length: numLayers }, (_, layer) => [
      `${layer}.key`,
      `${layer}.value`,
    ]).flat();
    const caches = () =>
      this.#kvNames.map(() => {
        const shape = [rows, numKvHeads, capacity, headDim];
        return new ort.Tensor('float32', new Float32Array(size(shape)), shape);
      });
    this.#past = caches();
    this.#present = caches();
    const shape = [rows, vocabSize];
    this.#logits = new ort.Tensor('float32', new Float32Array(size(shape)), shape);
  }

  static async open(
    model: BuiltModel,
    rows: number,
    capacity: number,
    threads: number,
  ): Promise<RunLoop> {
    // Two runtimes share the process's environment: ours is to be the one that makes it.
    ortEnvironment(threads);
    const session = await ort.InferenceSession.create(model.graphPath, {
      intraOpNumThreads: threads,
      graphOptimizationLevel: 'all',
    });
    return new RunLoop(session, model, rows, capacity);
  }

  /** One token for every row, at `position`. */
  async step(position: number): Promise<void> {
    const rows = this.#rows;
    const feeds: Record<string, ort.Tensor> = {
      input_ids: new ort.Tensor('int64', new BigInt64Array(rows).fill(5n), [rows, 1]),
      seqlens_k: new ort.Tensor('int32', new Int32Array(rows).fill(position), [rows]),
      total_sequence_length: new ort.Tensor('int32', Int32Array.of(position + 1), []),
      logits_index: new ort.Tensor(
        'int64',
        BigInt64Array.from({ length: rows }, (_, row) => BigInt(row)),
        [rows],
      ),
    };
    const fetches: Record<string, ort.Tensor> = { logits: this.#logits };
    for (const [index, name] of this.#kvNames.entries()) {
      feeds[`past_key_values.${name}`] = this.#past[index] ?? this.#logits;
      fetches[`present.${name}`] = this.#present[index] ?? this.#logits;
    }
    await this.#session.run(feeds, fetches);
    [this.#past, this.#present] = [this.#present, this.#past];
  }

  async release(): Promise<void> {
    await this.#session.release();
  }
}

function size(shape: readonly number[]): number {
  return shape.reduce((product, dimension) => product * dimension, 1);
}
