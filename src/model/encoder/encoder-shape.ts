/** Description of what an encoder computes, and names of its tensors: plain values, by which builds are told apart. */
import type { Activation } from '../huggingface/activation.ts';
import type { RopeScaling } from '../huggingface/rope-scaling.ts';

export type LayerActivation =
  | Extract<Activation, 'gelu' | 'gelu_tanh' | 'relu' | 'silu'>
  | 'quick_gelu';

/** Rotary embedding of queries and keys. */
export interface EncoderRope {
  readonly ropeTheta: number;
  readonly ropeScaling: RopeScaling;
}

/** Whom the tokens of a layer attend to, and by which angles. */
export interface EncoderReach {
  /** Most places between two tokens that see each other, in either direction; null for all of a text. */
  readonly window: number | null;
  /** Null where positions are embedded otherwise. */
  readonly rope: EncoderRope | null;
}

/**
 * Names of a layer's tensors, without `.weight` and `.bias`; `*` stands for the number of the layer. Norms
 * are null where there is none.
 */
export interface EncoderLayerNames {
  readonly beforeAttention: string | null;
  /** Query, key and value: one tensor for each, or one with all of them. */
  readonly queryKeyValue: readonly string[];
  /** Norms of each head's queries and keys. */
  readonly headNorms: readonly [query: string, key: string] | null;
  readonly attentionOutput: string;
  /** Norm of what attention adds. */
  readonly onAttention: string | null;
  /** Norm of the sum of that and the hidden state. */
  readonly afterAttention: string | null;
  readonly beforeMlp: string | null;
  /** The first matrix of an MLP; with gates, gate and up, or one tensor with both. */
  readonly up: readonly string[];
  readonly down: string;
  readonly onMlp: string | null;
  readonly afterMlp: string | null;
}

export interface EncoderNames {
  readonly words: string;
  readonly positions: string | null;
  readonly types: string | null;
  readonly embeddingNorm: string | null;
  readonly layer: EncoderLayerNames;
  /** [buckets, heads], in full: what is added to scores by the distance of two tokens. */
  readonly relativeBias: string | null;
  readonly finalNorm: string | null;
}

/** Embeddings of distances, which keys and queries are made of. */
export interface DistanceEmbeddings {
  /** [2 * span, hidden], in full. */
  readonly embeddings: string;
  /** Norm of them; null where there is none. */
  readonly norm: string | null;
  /** Tensors that make keys and queries of them; `*` stands for the number of the layer. */
  readonly projections: readonly [key: string, query: string];
  /** Embeddings on each side of the middle. */
  readonly span: number;
  /** Distance that has the last one. */
  readonly furthest: number;
  /** Whether far distances share embeddings, by their logarithm. */
  readonly isBucketed: boolean;
}

/** Which of a layer's matrices have a bias. */
export interface EncoderBiases {
  readonly queryKeyValue: boolean;
  readonly attentionOutput: boolean;
  readonly up: boolean;
  readonly down: boolean;
}

/** A linear layer, an activation and a norm, before labels or words. */
export interface HeadTransform {
  readonly dense: string;
  readonly bias: boolean;
  readonly activation: 'tanh' | LayerActivation;
  readonly norm: string | null;
}

/** Scores of labels, of one vector of the text. */
export interface LabelsHead extends HeadTransform {
  readonly type: 'labels';
  readonly pooling: 'first' | 'mean';
  readonly out: string;
  readonly numLabels: number;
}

/** Scores of all words for each token, over the matrix of the words' embeddings. */
export interface WordsHead extends HeadTransform {
  readonly type: 'words';
  /** Bias of the scores, in full. */
  readonly outBias: string;
}

/** The last token's vector in the space that texts share with images, of length 1. */
export interface ProjectionHead {
  readonly type: 'projection';
  readonly tensor: string;
  readonly outFeatures: number;
  readonly bias: boolean;
}

export interface EncoderConfig {
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly numPositions: number;
  /** Position of a text's first token. */
  readonly firstPosition: number;
  /** Types of tokens; 0 where there are none. */
  readonly numTypes: number;
  /** An RMS norm multiplies by 1 + its weight. */
  readonly norm: {
    readonly kind: 'layer' | 'rms';
    readonly epsilon: number;
    readonly hasBias: boolean;
  };
  /** Factor of embeddings. */
  readonly embeddingScale: number;
  /** Factor of a query's dot product with a key. */
  readonly attentionScale: number;
  readonly activation: LayerActivation;
  /** Where the gates are among the outputs of `up`; null for an MLP without. */
  readonly gates: 'first' | 'second' | null;
  readonly layers: readonly EncoderReach[];
  /** Left out where scores do not depend on embeddings of distances. */
  readonly distances?: DistanceEmbeddings;
  /** Whether tokens see none that come after them; false if left out. */
  readonly isCausal?: boolean;
  /** Whether the first layer goes without its norm before attention. */
  readonly startsPlain: boolean;
  readonly names: EncoderNames;
  readonly biases: EncoderBiases;
  readonly head: LabelsHead | WordsHead | ProjectionHead | null;
}

/** Everything but the head, and the heads that the family can have. */
export interface EncoderDescription {
  readonly body: Omit<EncoderConfig, 'head'>;
  readonly labels: Omit<LabelsHead, 'numLabels'> | null;
  readonly words: WordsHead | null;
  /** Left out by a family whose vectors are those of its tokens, pooled. */
  readonly projection?: ProjectionHead;
}

/** A family of encoders. */
export interface EncoderFamily {
  /** As config.json has it. */
  readonly modelTypes: readonly string[];
  /** @throws {ModelError} when no graph can be built of it */
  describe(json: unknown, origin: string): EncoderDescription;
}

/** Facts that an encoder's layers depend on, whatever they read. */
export type LayersConfig = Pick<
  EncoderConfig,
  | 'hiddenSize'
  | 'intermediateSize'
  | 'numHeads'
  | 'numKvHeads'
  | 'headDim'
  | 'norm'
  | 'activation'
  | 'gates'
  | 'layers'
  | 'startsPlain'
  | 'biases'
> & { readonly names: Pick<EncoderNames, 'embeddingNorm' | 'layer'> };

/** The names of a layer's tensors. */
export function layerNames({ names, startsPlain }: LayersConfig, layer: number) {
  const numbered = (name: string) => name.replace('*', String(layer));
  const optional = (name: string | null) => (name === null ? null : numbered(name));
  const { queryKeyValue, headNorms, attentionOutput, up, down, ...norms } = names.layer;
  return {
    beforeAttention: startsPlain && layer === 0 ? null : optional(norms.beforeAttention),
    queryKeyValue: queryKeyValue.map(numbered),
    headNorms: headNorms?.map(numbered) ?? null,
    attentionOutput: numbered(attentionOutput),
    onAttention: optional(norms.onAttention),
    afterAttention: optional(norms.afterAttention),
    beforeMlp: optional(norms.beforeMlp),
    up: up.map(numbered),
    down: numbered(down),
    onMlp: optional(norms.onMlp),
    afterMlp: optional(norms.afterMlp),
  };
}

/** The norms before linear layers, each by the names of its tensors and its output. */
export function normOutputs(config: LayersConfig): string[] {
  let previous = config.names.embeddingNorm;
  const norms = config.layers.flatMap((_reach, layer) => {
    const names = layerNames(config, layer);
    const own = [names.beforeAttention ?? previous, names.beforeMlp ?? names.afterAttention];
    previous = names.afterMlp;
    return own;
  });
  return norms.filter((name) => name !== null);
}
