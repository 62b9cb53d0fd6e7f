import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { BlockMatrix } from '../quantize/block-matrix.ts';
import { castToActivations } from '../quantize/float-matrix.ts';
import { makeMatrix } from '../quantize/make-matrix.ts';
import type { BlockFormat, FloatFormat } from '../quantize/weight-format.ts';
import { tableSource } from '../huggingface/matrix-source.ts';
import type { WeightSource } from '../huggingface/weights.ts';

/** A matrix [vocab, hidden]: the token embedding, the LM head, or both at once when they are tied. */
export interface VocabularyMatrix {
  /**
   * Adds the embedding of token ids [tokens]; returns the name of [tokens, hidden].
   * @param prefix of the node's name, `embedding` if left out
   */
  embed(tokenIds: string, prefix?: string): string;
  /** Adds the projection of hidden states [rows, hidden] to [rows, vocab], named `logits`. */
  project(hidden: string, logits: string): void;
}

/** Adds the checkpoint tensor `tensor` [vocab, hidden] to the graph. */
export function vocabularyMatrix(
  graph: GraphBuilder,
  weights: WeightSource,
  tensor: string,
  shape: readonly [vocab: number, hidden: number],
  format: FloatFormat | BlockFormat,
): VocabularyMatrix {
  const source = tableSource(tensor, shape);
  if (format.kind === 'blocks') {
    const matrix = new BlockMatrix(graph, weights, source, format);
    return {
      embed: (tokenIds, prefix = 'embedding') => matrix.gather(`${prefix}/Gather`, tokenIds),
      project: (hidden, logits) => matrix.multiply(logits, hidden),
    };
  }
  const { type } = format;
  const stored = graph.initializer(`${tensor}.weight`, type, shape, async () => {
    return (await makeMatrix(weights, { kind: 'floats', source, type, isTransposed: false }))
      .values;
  });
  return floatVocabulary(graph, stored, format);
}

function floatVocabulary(
  graph: GraphBuilder,
  stored: string,
  format: FloatFormat,
): VocabularyMatrix {
  return {
    embed(tokenIds, prefix = 'embedding') {
      const rows = graph.node(`${prefix}/Gather`, 'Gather', [stored, tokenIds]);
      return castToActivations(graph, rows, format);
    },
    project(hidden, logits) {
      graph.node('lm_head/Gemm', 'Gemm', [hidden, castToActivations(graph, stored, format)], {
        outputs: [logits],
        attributes: { transB: 1n },
      });
    },
  };
}
