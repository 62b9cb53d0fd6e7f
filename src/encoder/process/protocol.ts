/** Messages between the front and an encoder process, as structured clones. */
import type { EncoderKind } from '../../model/encoder/encoder-kind.ts';
import type { EncoderPrecision } from '../../model/encoder/encoder-nodes.ts';
import type { GraphSignature } from '../tensors/signature.ts';
import type { Datatype, TensorValue } from '../tensors/tensor.ts';

/** Model that a process runs. */
export type EncoderSource =
  /** Any graph without state. */
  | {
      readonly type: 'graph';
      /** Absolute path. */
      readonly path: string;
      /** Whether its first dimension is that of a batch; found in the graph if null. */
      readonly isBatched: boolean | null;
    }
  /** A folder of a text encoder, see inspectEncoderFolder. */
  | {
      readonly type: 'text';
      readonly folder: string;
      readonly precision: EncoderPrecision;
      readonly cacheDirectory: string;
    }
  /** The part of a text model that sees, see inspectVision. */
  | {
      readonly type: 'vision';
      /** Absolute path of the model's folder, or of its GGUF file. */
      readonly path: string;
      /** Absolute path of the GGUF file with the part that sees; null where it is in the folder. */
      readonly mmproj: string | null;
      /** Width of the text model's embeddings. */
      readonly hiddenSize: number;
      readonly precision: EncoderPrecision;
      readonly cacheDirectory: string;
    }
  /** The part of a text model that hears, see inspectSpeech. */
  | {
      readonly type: 'speech';
      /** Absolute path of the model's folder. */
      readonly path: string;
      readonly cacheDirectory: string;
    }
  /** The part of such a model that tells when a token was said, see buildAlignmentGraph. */
  | {
      readonly type: 'alignment';
      /** Absolute path of the model's folder. */
      readonly path: string;
      readonly cacheDirectory: string;
    }
  /** The image tower of a model that embeds texts and images alike, see inspectDual. */
  | {
      readonly type: 'images';
      readonly folder: string;
      readonly precision: EncoderPrecision;
      readonly cacheDirectory: string;
    };

export interface EncoderOptions {
  readonly source: EncoderSource;
  /** Intra-op threads of ONNX Runtime; 0 takes the number that `usableCores` returns. */
  readonly threads: number;
}

/** A text's tokens, special ones included. */
export interface TokenInput {
  readonly type: 'tokens';
  readonly ids: Int32Array;
  /** Where the second text of a pair begins; as many as there are ids for a text by itself. */
  readonly secondStart: number;
  /** Tokens from the first on that all see; those after them see these, and none sees them. All if left out. */
  readonly numSeen?: number;
  /** Whether the vectors of its tokens are wanted, in place of its own; all of a batch want the same. */
  readonly wantsTokens?: boolean;
}

export interface TensorsInput {
  readonly type: 'tensors';
  /** One for each input of the graph, see checkInputs. */
  readonly tensors: readonly TensorValue[];
  readonly rows: number;
  /** Names of the outputs that are wanted. */
  readonly outputs: readonly string[];
}

export type EncoderInput = TokenInput | TensorsInput;

/** Result of a request: the outputs of the graph, or the text's vector as the only one. */
export type EncoderOutcome =
  | { readonly type: 'done'; readonly output: readonly TensorValue[] }
  | { readonly type: 'failed'; readonly message: string };

export type EncoderCommand =
  | { readonly type: 'start'; readonly options: EncoderOptions }
  /** Part of inputs that are too large for one message; the next one comes after `more`. */
  | { readonly type: 'part'; readonly part: TensorsPart }
  /** One batch; the next one comes once it is done. */
  | {
      readonly type: 'run';
      readonly id: number;
      readonly inputs: readonly EncoderInput[];
      /** The tensors of each input where parts came before, in place of its own; null where none did. */
      readonly lists: readonly (readonly SentTensor[])[] | null;
    }
  /** The next part may come. */
  | { readonly type: 'more' }
  | { readonly type: 'shutdown' };

export type EncoderMessage =
  | { readonly type: 'ready'; readonly info: EncoderInfo }
  | { readonly type: 'failed'; readonly message: string }
  /** The next part of the inputs may come. */
  | { readonly type: 'more' }
  /** Part of outcomes that are too large for one message; the next one comes after `more`. */
  | { readonly type: 'part'; readonly part: TensorsPart }
  | {
      readonly type: 'done';
      readonly id: number;
      /** One for each input. */
      readonly outcomes: readonly EncoderOutcome[];
      /** As of inputs. */
      readonly lists: readonly (readonly SentTensor[])[] | null;
    };

/** Some of the bytes of all tensors of a batch. */
export interface TensorsPart {
  /** Offset of the first of these bytes in all parts. */
  readonly offset: number;
  /** Size of all parts together. */
  readonly totalBytes: number;
  readonly bytes: Uint8Array;
}

/** A tensor that was sent in parts. */
export interface SentTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Offset of its first byte in all parts, a multiple of 8 for numbers. */
  readonly offset: number;
  readonly numBytes: number;
  /** Length of each element of a tensor of texts, in bytes; empty for numbers. */
  readonly lengths: Uint32Array;
}

export interface EncoderInfo {
  /** As ONNX Runtime names itself, such as `1.30.0`. */
  readonly runtimeVersion: string;
  readonly threads: number;
  readonly signature: GraphSignature;
  /** Resident memory of the process once the model is loaded. */
  readonly residentBytes: number;
  /** Memory that the model may take with its weights, texts in tensors left out; null where nothing bounds it. */
  readonly maxBytes: number | null;
  /** Null for other models than text encoders. */
  readonly text: {
    readonly kind: EncoderKind;
    readonly dim: number;
    /** Dimensions of its tokens' vectors; null where the graph does not give them. */
    readonly tokenDim: number | null;
  } | null;
}
