import type { EncoderRuntime, TextRuntime } from '../runtimes.ts';

/** Models that make vectors and scores: encoders, and models that generate text. */
export type EmbeddingRuntime = Pick<EncoderRuntime | TextRuntime, 'encoder' | 'model'> &
  Partial<Pick<EncoderRuntime, 'images'>>;
