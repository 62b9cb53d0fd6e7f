/** Properties of a GGUF file that set it apart from others of its architecture. */
export type GgufTrait =
  | 'windows'
  | 'image sections'
  | 'joined states'
  | 'experts'
  | 'no experts'
  | 'unshared experts'
  | 'shared experts'
  | 'two norms'
  | 'correction'
  | 'finetuned rope';

/** A decoder's size, by what its configuration depends on. */
export interface DecoderSize {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly headDim: number;
  /** Experts of each layer that has any. */
  readonly experts: number;
  /** Tokens of a sliding window, 0 for none; undefined where the file says nothing. */
  readonly window: number | undefined;
}
