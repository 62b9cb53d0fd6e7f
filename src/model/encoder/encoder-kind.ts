/** Output of a text encoder: a vector for a text, scores of one text or two, or weights of words. */
export type EncoderKind = 'embedding' | 'reranker' | 'sparse';
