import type { BuiltModel } from '../../model/manifest.ts';
import { readExternalInitializers } from '../../onnx/external-initializers.ts';
import type { Session } from '../../ort/session.ts';
import type { SessionOptions } from '../../ort/session-options.ts';
import type { SharedWeights } from '../../ort/shared-weights.ts';
import { openGraph } from '../graph-session.ts';
import type { HiddenSink, Predicted, PredictionModule, PredictionRun } from '../prediction.ts';
import { isEmbedding } from '../prompt-embeddings.ts';
import type { Segment } from '../step.ts';
import type { KvStorage } from './kv-storage.ts';
import { hiddenSizeOf, LogitsBuffer } from './logits-buffer.ts';
import { RunBindings } from './run-bindings.ts';

/**
 * A module that predicts the token after the next one. Its keys and values are in layers of their own of the model's
 * KV cache: they move, and are kept, with the model's. Its embeddings and its LM head are the model's in memory.
 */
export class PredictionRunner implements HiddenSink, PredictionModule {
  readonly #session: Session;
  readonly #logits: LogitsBuffer;
  readonly #bindings: RunBindings;
  #sink: HiddenSink | null = null;

  /**
   * @param graphPath of a module in the model's folder
   * @param weights of the model, to be released after this
   */
  constructor(
    graphPath: string,
    model: BuiltModel,
    storage: KvStorage,
    weights: SharedWeights,
    options?: SessionOptions,
  ) {
    const names = readExternalInitializers(graphPath, model.weightsFolder).map(({ name }) => name);
    this.#session = openGraph(graphPath, model, options, weights.only(new Set(names)));
    this.#logits = new LogitsBuffer(1, model.manifest.vocabSize, hiddenSizeOf(this.#session));
    this.#bindings = new RunBindings({ storage, logits: this.#logits });
  }

  follow(sink: HiddenSink): void {
    this.#sink = sink;
  }

  take(segment: Segment, rows: Float32Array): void {
    this.#sink?.take(segment, rows);
  }

  run({ slot, start, tokenIds, hidden }: PredictionRun): Predicted {
    const { length } = tokenIds;
    const binding = this.#bindings.ofSlots(this.#session, slot, 1);
    const group = binding.group();
    group.begin(length);
    const ids = group.inputIds(length);
    for (const [at, id] of tokenIds.entries()) ids[at] = isEmbedding(id) ? 0n : BigInt(id);
    group.setLength(0, start + length);
    binding.previousHidden(length).set(hidden);
    this.#logits.reset();
    const row = binding.run([length - 1]);
    const own = this.#logits.hiddenRow(row);
    if (own === null) throw new Error('a module that predicts outputs hidden states');
    return { logits: this.#logits.row(row), hidden: own };
  }

  release(): void {
    this.#bindings.release();
    this.#session.release();
    this.#logits.release();
  }
}
