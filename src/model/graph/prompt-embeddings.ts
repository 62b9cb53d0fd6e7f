import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { ResidualSum } from './decoder-values.ts';

/**
 * Inputs of graphs that take embeddings in place of tokens: float [rows, width]. The width is that of the
 * model, and as much again for each layer whose sum gets more of an image.
 */
export const EMBEDDING_ROWS = 'embedding_rows';

/** int64 [rows, 1]: the places of these rows among the run's tokens, as `logits_index` numbers them. */
export const EMBEDDING_PLACES = 'embedding_places';

/** Rows of embeddings, and where they go. */
export interface PromptEmbeddings {
  /**
   * Puts them where tokens' would be, as Transformers merges an image's features: after the embeddings' scale,
   * before positions are added. @param embedded [tokens, hidden]
   */
  place(embedded: string): string;
  /** Adds to a layer's sum what it gets of them; others stay as they are. */
  deepen(layer: number, sum: ResidualSum): ResidualSum;
}

/** Adds the inputs. */
export function promptEmbeddings(
  graph: GraphBuilder,
  { hiddenSize, deepLayers = 0 }: DecoderConfig,
): PromptEmbeddings {
  const numParts = 1 + deepLayers;
  const rows = graph.input(EMBEDDING_ROWS, 'float', ['rows', numParts * hiddenSize]);
  const places = graph.input(EMBEDDING_PLACES, 'int64', ['rows', 1]);
  const parts = Array.from({ length: numParts }, (_, part) => `embedding/Rows/${part}`);
  if (deepLayers > 0) {
    const attributes = { axis: 1n, num_outputs: BigInt(numParts) };
    graph.node('embedding/Split', 'Split', [rows], { outputs: parts, attributes });
  }
  const [first = '', ...deeper] = deepLayers > 0 ? parts : [rows];
  return {
    place: (embedded) => graph.node('embedding/Placed', 'ScatterND', [embedded, places, first]),
    deepen(layer, { sum, ...rest }) {
      const own = deeper[layer];
      if (own === undefined) return { sum, ...rest };
      const attributes = { reduction: 'add' };
      const made = graph.node(`embedding/Deep/${layer}`, 'ScatterND', [sum, places, own], {
        attributes,
      });
      return { sum: made, ...rest };
    },
  };
}
