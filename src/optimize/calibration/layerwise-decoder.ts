import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { DecoderConfig } from '../../model/huggingface/config.ts';
import type { WeightSource } from '../../model/huggingface/weights.ts';
import { runForOutputs } from '../../ort/run-for-outputs.ts';
import { Session } from '../../ort/session.ts';
import { Tensor } from '../../ort/tensor.ts';
import { TEXT_INPUTS } from './text-attention.ts';
import {
  embeddingGraph,
  layerGraph,
  likelihoodGraph,
  type Statistic,
  statisticName,
  TARGET_INPUT,
  type TextGraph,
} from './text-graphs.ts';

/** Hidden states of texts: [tokens, hidden] each. */
export type HiddenStates = readonly Float32Array<ArrayBuffer>[];

/** Sums over the tokens of all texts, and the largest of what is a largest. */
export class Statistics {
  readonly #sums = new Map<string, Float64Array>();

  add(statistic: Statistic, values: Float32Array): void {
    const name = statisticName(statistic);
    const sums = this.#sums.get(name) ?? new Float64Array(values.length);
    const together = statistic.kind === 'reach' ? Math.max : plus;
    for (let i = 0; i < values.length; i++) sums[i] = together(sums[i] ?? 0, values[i] ?? 0);
    this.#sums.set(name, sums);
  }

  /** @throws {RangeError} if it was not watched */
  of(statistic: Statistic): Float64Array {
    const sums = this.#sums.get(statisticName(statistic));
    if (sums === undefined) throw new RangeError(`${statisticName(statistic)} was not watched`);
    return sums;
  }
}

const plus = (a: number, b: number) => a + b;

export interface LayerRun {
  readonly hidden: HiddenStates;
  readonly statistics: Statistics;
}

/** The decoder that is served in float32, over whole texts and one layer at a time. */
export class LayerwiseDecoder {
  readonly #config: DecoderConfig;
  readonly #weights: WeightSource;
  readonly #folder: string;
  readonly #threads: number;

  /**
   * @param longest tokens of a text
   * @param folder for graphs while they are used
   */
  constructor(
    { config, weights }: { readonly config: DecoderConfig; readonly weights: WeightSource },
    { longest, folder, threads }: { longest: number; folder: string; threads: number },
  ) {
    // Rotary tables for no more positions than there are tokens.
    this.#config = { ...config, maxPositionEmbeddings: longest };
    this.#weights = weights;
    this.#folder = folder;
    this.#threads = threads;
  }

  async embed(texts: readonly Int32Array[]): Promise<HiddenStates> {
    const { graph, output } = embeddingGraph(this.#config, this.#weights);
    return this.#withSession(graph, async (session) =>
      texts.map((text) => {
        const inputs = new Map([[TEXT_INPUTS.tokenIds, int64s(text)]]);
        const [hidden = new Float32Array()] = run(session, inputs, [output]);
        return hidden;
      }),
    );
  }

  /**
   * @param watched what is summed up of the layer's inputs
   * @param targets what the hidden states after the layer should be, where errors are watched
   */
  async layer(
    layer: number,
    hidden: HiddenStates,
    watched: readonly Statistic[] = [],
    targets: HiddenStates | null = null,
  ): Promise<LayerRun> {
    const made = layerGraph(this.#config, this.#weights, layer, watched);
    const outputs = [made.output, ...watched.map(statisticName)];
    const statistics = new Statistics();
    const after: Float32Array<ArrayBuffer>[] = [];
    await this.#withSession(made.graph, async (session) => {
      for (const [index, before] of hidden.entries()) {
        const inputs = this.#stateInputs(made, before);
        const target = targets?.[index];
        if (target) inputs.set(TARGET_INPUT, this.#state(target));
        const [next = new Float32Array(), ...sums] = run(session, inputs, outputs);
        after.push(next);
        for (const [place, statistic] of watched.entries()) {
          statistics.add(statistic, sums[place] ?? new Float32Array());
        }
        await setImmediate();
      }
    });
    return { hidden: after, statistics };
  }

  /** How many nats the tokens of texts take, each but the first after those before it. */
  async negativeLogLikelihood(
    texts: readonly Int32Array[],
    hidden: HiddenStates,
  ): Promise<{ readonly nats: number; readonly tokens: number }> {
    const made = likelihoodGraph(this.#config, this.#weights);
    let nats = 0;
    let tokens = 0;
    await this.#withSession(made.graph, async (session) => {
      for (const [index, text] of texts.entries()) {
        const numPredicted = text.length - 1;
        const state = hidden[index]?.slice(0, numPredicted * this.#config.hiddenSize);
        const inputs = this.#stateInputs(made, state ?? new Float32Array());
        inputs.set(TEXT_INPUTS.tokenIds, int64s(text.subarray(1)));
        const [sum] = run(session, inputs, [made.output]);
        nats += sum?.[0] ?? Number.NaN;
        tokens += numPredicted;
        await setImmediate();
      }
    });
    return { nats, tokens };
  }

  #stateInputs({ hidden, residual }: TextGraph, state: Float32Array<ArrayBuffer>) {
    const tokens = state.length / this.#config.hiddenSize;
    const places = BigInt64Array.from({ length: tokens }, (_, place) => BigInt(place));
    const inputs = new Map<string, Tensor>([
      [TEXT_INPUTS.lastPosition, Tensor.over('int32', [1], Int32Array.of(tokens - 1))],
      [TEXT_INPUTS.numTokens, Tensor.over('int32', [], Int32Array.of(tokens))],
      ['logits_index', Tensor.over('int64', [tokens], places)],
    ]);
    // A layer adds what the one before it gives to the sum of everything before: here all is in the sum.
    const nothing = new Float32Array(residual === undefined ? 0 : state.length);
    inputs.set(hidden ?? '', this.#state(residual === undefined ? state : nothing));
    if (residual !== undefined) inputs.set(residual, this.#state(state));
    return inputs;
  }

  #state(values: Float32Array<ArrayBuffer>): Tensor {
    const { hiddenSize } = this.#config;
    return Tensor.over('float', [values.length / hiddenSize, hiddenSize], values);
  }

  async #withSession<R>(
    graph: TextGraph['graph'],
    use: (session: Session) => Promise<R>,
  ): Promise<R> {
    const folder = await mkdtemp(join(this.#folder, 'graph-'));
    let session: Session | undefined;
    try {
      const path = join(folder, 'part.onnx');
      await graph.write(path);
      session = new Session(path, { intraOpThreads: this.#threads });
      return await use(session);
    } finally {
      session?.release();
      await rm(folder, { recursive: true, force: true });
    }
  }
}

function int64s(values: Int32Array): Tensor {
  return Tensor.over('int64', [values.length], BigInt64Array.from(values, BigInt));
}

/** Runs a part over those inputs that it has, and releases them all. @returns copies of the outputs */
function run(
  session: Session,
  inputs: ReadonlyMap<string, Tensor>,
  outputs: readonly string[],
): Float32Array<ArrayBuffer>[] {
  const names = new Set(session.inputs.map(({ name }) => name));
  const used = new Map([...inputs].filter(([name]) => names.has(name)));
  const made: (Tensor | { release(): void })[] = [];
  try {
    made.push(...runForOutputs(session, used, outputs));
    return made.map((tensor) => {
      if (tensor instanceof Tensor && tensor.data instanceof Float32Array) {
        return new Float32Array(tensor.data);
      }
      throw new TypeError('a part of a decoder gave no float32');
    });
  } finally {
    for (const tensor of [...inputs.values(), ...made]) tensor.release();
  }
}
