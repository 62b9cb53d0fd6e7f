/** Properties of a GGUF file that set it apart from others of its architecture. */
export type GgufTrait = 'windows' | 'experts' | 'two norms' | 'correction';

/** A decoder's size, by what its configuration depends on. */
export interface DecoderSize {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly headDim: number;
}
