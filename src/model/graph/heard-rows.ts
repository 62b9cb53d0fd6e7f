/** Tells the tokens of a run from the positions that hold an encoder's output. */
import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { EMBEDDING_PLACES, EMBEDDING_ROWS } from './prompt-embeddings.ts';

/** ONNX's number of the type. */
const INT64 = 7n;

/** Values of a run in which an encoder's rows stand between tokens of texts. */
export interface HeardRows {
  /** The encoder's rows of the run, float [rows, hidden]. */
  readonly rows: string;
  /** A value [rows]. */
  readonly rowsLike: string;
  /** int32 [texts]: ids of tokens of texts. */
  readonly tokenIds: string;
  /** `logits_index`, as places among these. */
  readonly wanted: string;
  /** Rows of texts, [texts, n], of a value of all tokens, [tokens, n]. */
  texts(value: string): string;
  /** Puts texts' [texts, n] and the encoder's [rows, n] in the order of the run, [tokens, n]. */
  together(name: string, texts: string, rows: string): string;
  /** The same with zeros in place of the encoder's. @param width n */
  spread(name: string, texts: string, width: number): string;
}

/**
 * Adds the inputs of prompt-embeddings.ts. No token of a text is computed where the encoder's rows are, and a
 * run without such rows costs no more than the order of its tokens.
 * @param tokenIds int32 [tokens]
 */
export function heardRows(graph: GraphBuilder, tokenIds: string, hiddenSize: number): HeardRows {
  const node = (name: string, type: string, inputs: readonly string[], attributes = {}): string =>
    graph.node(`heard/${name}`, type, inputs, { attributes });
  const ints = (name: string, ...values: readonly number[]): string => {
    const data = BigInt64Array.from(values, BigInt);
    return graph.initializer(`heard/${name}`, 'int64', [values.length], data);
  };
  const int = (name: string, value: number): string =>
    graph.initializer(`heard/${name}`, 'int64', [], BigInt64Array.of(BigInt(value)));

  const rows = graph.input(EMBEDDING_ROWS, 'float', ['rows', hiddenSize]);
  const places = graph.input(EMBEDDING_PLACES, 'int64', ['rows', 1]);
  const [zero, one, rest] = [int('zero', 0), int('one', 1), ints('rest', -1)];
  const zeros = ints('zeros', 0);

  // 1 for a token of a text, 0 for a row of the encoder.
  const rowsLike = node('rowsLike', 'Reshape', [places, rest]);
  const none = node('none', 'Mul', [rowsLike, zero]);
  const allPlaces = node('allPlaces', 'Shape', [tokenIds]);
  const ones = node('ones', 'Expand', [one, allPlaces]);
  const isText = node('isText', 'ScatterND', [ones, places, none]);
  const found = node('found', 'NonZero', [isText]);
  const foundPlaces = node('foundPlaces', 'Reshape', [found, rest]);
  // A run of the encoder's rows alone computes one of them as a text, for nothing: not all nodes take no rows.
  const numFound = node('numFound', 'Shape', [foundPlaces]);
  const isNone = node('isNone', 'Equal', [numFound, zeros]);
  const numSpare = node('numSpare', 'Cast', [isNone], { to: INT64 });
  const spare = node('spare', 'Expand', [zero, numSpare]);
  const textPlaces = node('textPlaces', 'Concat', [foundPlaces, spare], { axis: 0n });
  const numTexts = node('numTexts', 'Squeeze', [node('sumOfTexts', 'Add', [numFound, numSpare])]);

  // By place in the run: which text, or after all of them which row.
  const counted = node('counted', 'CumSum', [isText, zero]);
  const texts = node('texts', 'Sub', [counted, one]);
  const numRows = node('numRows', 'Shape', [rowsLike]);
  const end = node('end', 'Add', [numTexts, node('size', 'Squeeze', [numRows])]);
  const rowNumbers = node('rowNumbers', 'Range', [numTexts, end, one]);
  const order = node('order', 'ScatterND', [texts, places, rowNumbers]);
  const ofTexts = node('ofTexts', 'Min', [order, numTexts]);

  return {
    rows,
    rowsLike,
    tokenIds: node('tokenIds', 'Gather', [tokenIds, textPlaces]),
    wanted: node('wanted', 'Gather', [texts, 'logits_index']),
    texts: (value) => graph.node(`${value}/Texts`, 'Gather', [value, textPlaces]),
    together(name, ofText, ofRows) {
      const attributes = { axis: 0n };
      const all = graph.node(`${name}/All`, 'Concat', [ofText, ofRows], { attributes });
      return graph.node(`${name}/Ordered`, 'Gather', [all, order]);
    },
    spread(name, ofText, width) {
      const zeroRow = graph.initializer(
        `${name}/zeros`,
        'float',
        [1, width],
        new Float32Array(width),
      );
      const attributes = { axis: 0n };
      const all = graph.node(`${name}/All`, 'Concat', [ofText, zeroRow], { attributes });
      return graph.node(`${name}/Ordered`, 'Gather', [all, ofTexts]);
    },
  };
}
