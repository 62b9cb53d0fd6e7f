import { runForOutputs } from '../ort/run-for-outputs.ts';
import type { Session } from '../ort/session.ts';
import { Tensor } from '../ort/tensor.ts';
import type { Batch } from './batch-runner.ts';
import type { EncoderInput, TokenInput } from './process/protocol.ts';
import { attentionMask, type TokenFeed } from './token-feeds.ts';
import { slice, type TensorValue } from './tensors/tensor.ts';

export interface TextGraphs {
  readonly session: Session;
  readonly feed: TokenFeed;
  /** Output that is read: a vector or scores for each text, or vectors of tokens. */
  readonly output: string;
  /** Output with the vectors of tokens, [batch, seq, width]; null where there is none. */
  readonly tokens: string | null;
  /** Makes a text's vector out of those of its tokens, see buildHeadGraph. */
  readonly head: Session | null;
  /** Whether most of the output is 0, and the rest is told with its places. */
  readonly isSparse: boolean;
}

/** Batches of texts, each of which becomes a vector, or one for each of its tokens. */
export class TextBatch implements Batch {
  readonly #graphs: TextGraphs;

  constructor(graphs: TextGraphs) {
    this.#graphs = graphs;
  }

  run(inputs: readonly EncoderInput[]) {
    const texts = inputs.filter((input): input is TokenInput => input.type === 'tokens');
    if (texts.length < inputs.length) throw new Error('the model takes texts, not tensors');
    if (texts[0]?.wantsTokens === true) return this.#runForTokens(texts);
    const vectors = this.#vectors(texts);
    const { shape, data } = vectors;
    const [rows, dim = 0] = shape;
    if (shape.length !== 2 || rows !== texts.length || !(data instanceof Float32Array)) {
      vectors.release();
      throw new Error(`the encoder made [${shape.join(', ')}] of ${texts.length} texts`);
    }
    const outputs = texts.map((_text, row): TensorValue[] => {
      const vector = data.subarray(row * dim, (row + 1) * dim);
      if (this.#graphs.isSparse) return sparseOf(vector);
      return [{ name: 'vector', datatype: 'FP32', shape: [dim], data: vector }];
    });
    return { outputs, tensors: [vectors] };
  }

  #runForTokens(texts: readonly TokenInput[]) {
    const { session, feed, tokens } = this.#graphs;
    if (tokens === null) throw new Error('the graph gives no vectors of tokens');
    const table = runOnce(session, feed(texts), tokens);
    const { shape, data } = table;
    const [rows, seq = 0, width = 0] = shape;
    if (shape.length !== 3 || rows !== texts.length || !(data instanceof Float32Array)) {
      table.release();
      throw new Error(`the encoder made [${shape.join(', ')}] of ${texts.length} texts`);
    }
    const outputs = texts.map(({ ids }, row): TensorValue[] => {
      const start = row * seq * width;
      const own = slice(data, start, start + ids.length * width);
      return [{ name: 'vectors', datatype: 'FP32', shape: [ids.length, width], data: own }];
    });
    return { outputs, tensors: [table] };
  }

  /** [batch, dim] */
  #vectors(texts: readonly TokenInput[]): Tensor {
    const { session, feed, output, head } = this.#graphs;
    const made = runOnce(session, feed(texts), output);
    if (head === null) return made;
    const given = new Map([
      ['hidden', made],
      ['attention_mask', attentionMask(texts)],
    ]);
    return runOnce(head, given, 'embedding');
  }
}

/** Places of what is not 0, and the numbers there. */
function sparseOf(vector: Float32Array): TensorValue[] {
  const places: number[] = [];
  for (const [place, value] of vector.entries()) if (value !== 0) places.push(place);
  const shape = [places.length];
  const weights = Float32Array.from(places, (place) => vector[place] ?? 0);
  return [
    { name: 'places', datatype: 'INT32', shape, data: Int32Array.from(places) },
    { name: 'weights', datatype: 'FP32', shape, data: weights },
  ];
}

/** Releases what it is given. */
function runOnce(session: Session, inputs: ReadonlyMap<string, Tensor>, output: string): Tensor {
  try {
    const [made] = runForOutputs(session, inputs, [output]);
    if (made instanceof Tensor) return made;
    made?.release();
    throw new Error('the run made no numbers');
  } finally {
    for (const tensor of inputs.values()) tensor.release();
  }
}
