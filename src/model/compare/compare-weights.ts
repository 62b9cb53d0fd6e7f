import type { BuiltModel } from '../manifest.ts';
import { inspectSource, type ModelSource } from '../build/model-source.ts';
import { layerMatrices } from '../graph/layer-matrices.ts';
import { lmHeadSource } from '../graph/vocabulary-sources.ts';
import { inRotaryOrder } from '../graph/rotary-order.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { piecesOf, type WeightSource } from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';
import { type MatrixSource, rowsOf, tableSource } from '../huggingface/matrix-source.ts';
import { type StoredMatrix, storedMatrix } from './stored-matrix.ts';
import { StoredTensors } from './stored-tensors.ts';

/** Change of a checkpoint's matrix in the build. */
export interface MatrixChange {
  /** Name in the build. */
  readonly name: string;
  /** Null for the embedding and the LM head. */
  readonly layer: number | null;
  readonly rows: number;
  readonly columns: number;
  /** How the checkpoint has it, such as `BF16`; several where its tensors differ. */
  readonly from: readonly string[];
  /** How the build has it, such as `4 bits in blocks of 64`. */
  readonly form: string;
  /** Null where weights were not compared. */
  readonly error: WeightError | null;
}

/** Differences between the weights of the build and the checkpoint's. */
export interface WeightError {
  readonly largest: number;
  /** Root of the mean square. */
  readonly rms: number;
  /** `rms`, of the weights' own. */
  readonly relative: number;
}

export interface CompareOptions {
  /** Reads all weights of both; otherwise only reports their forms. */
  readonly withErrors: boolean;
  /** See parseDecoderConfig. */
  readonly maxModelLen?: number | undefined;
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Compares the matrices of a build with those of its checkpoint, one at a time.
 * @throws {ModelError} for an ONNX export, whose weights are used as they are, or a build that misses one
 */
export async function compareWeights(
  source: ModelSource,
  model: Pick<BuiltModel, 'graphPath' | 'weightsFolder'>,
  { withErrors, maxModelLen, onProgress }: CompareOptions,
): Promise<MatrixChange[]> {
  const checkpoint = await inspectSource(source, maxModelLen);
  if (checkpoint.kind === 'export') {
    throw new ModelError(
      `${checkpoint.path} is an ONNX export, whose weights are used as they are`,
    );
  }
  const { config } = checkpoint;
  const tensors = await StoredTensors.open(model);
  const weights = inRotaryOrder(config, await checkpoint.open());
  try {
    const changes: MatrixChange[] = [];
    const matrices = matricesOf(config, tensors);
    const bytes = matrices.map(({ source: matrix }) => 4 * matrix.columns * rowsOf(matrix));
    const total = bytes.reduce((sum, each) => sum + each, 0);
    let done = 0;
    for (const [index, { source: matrix, layer }] of matrices.entries()) {
      const stored = await storedMatrix(tensors, matrix);
      if (stored === null) throw new ModelError(`${model.graphPath} has no "${matrix.name}"`);
      changes.push({
        name: matrix.name,
        layer,
        rows: rowsOf(matrix),
        columns: matrix.columns,
        from: typesOf(weights, matrix),
        form: stored.form,
        error: withErrors ? await errorOf(weights, matrix, stored) : null,
      });
      done += bytes[index] ?? 0;
      if (withErrors) onProgress?.(done, total);
    }
    return changes;
  } finally {
    await weights.close();
  }
}

/** By their names in a build: the embedding, the layers' matrices, and the LM head; one of the two if tied. */
function matricesOf(config: DecoderConfig, tensors: StoredTensors) {
  const { family, vocabSize, hiddenSize, tieWordEmbeddings, numLayers } = config;
  const { embedding, lmHead } = family.tensors;
  const ofVocabulary = (source: MatrixSource) => ({ layer: null, source });
  const table = (tensor: string) => ofVocabulary(tableSource(tensor, [vocabSize, hiddenSize]));
  const layers = Array.from({ length: numLayers }, (_, layer) =>
    layerMatrices(config, layer).map((source) => ({ layer, source })),
  );
  const head = ofVocabulary(lmHeadSource(config));
  const suffixes = ['weight_packed8', 'weight_packed4', 'weight_int8', 'weight_blocks', 'weight'];
  const has = (name: string) => suffixes.some((suffix) => tensors.shape(`${name}.${suffix}`));
  const hasHead = has(head.source.name);
  const isInHead = tieWordEmbeddings && hasHead && !has(embedding);
  const ownEmbedding = isInHead ? [] : [table(embedding)];
  const ownHead = hasHead ? [head] : tieWordEmbeddings ? [] : [table(lmHead)];
  return [...ownEmbedding, ...layers.flat(), ...ownHead];
}

function typesOf(weights: WeightSource, { tensors }: MatrixSource): string[] {
  return [...new Set(tensors.map(({ name }) => weights.typeOf?.(name) ?? 'floats'))];
}

async function errorOf(
  weights: WeightSource,
  source: MatrixSource,
  { readRow }: StoredMatrix,
): Promise<WeightError> {
  const { tensors, columns } = source;
  const stored = new Float32Array(columns);
  let largest = 0;
  let squaredErrors = 0;
  let squares = 0;
  let row = 0;
  for (const { name, rows } of tensors) {
    for await (const piece of piecesOf(weights, name, [rows, columns])) {
      for (let start = 0; start < piece.length; start += columns, row++) {
        readRow(row, stored);
        for (let i = 0; i < columns; i++) {
          const weight = piece[start + i] ?? NaN;
          const error = Math.abs(weight - (stored[i] ?? NaN));
          if (!(error <= largest)) largest = error;
          squaredErrors += error * error;
          squares += weight * weight;
        }
      }
    }
  }
  const relative = squares === 0 ? 0 : Math.sqrt(squaredErrors / squares);
  return { largest, rms: Math.sqrt(squaredErrors / (row * columns)), relative };
}
