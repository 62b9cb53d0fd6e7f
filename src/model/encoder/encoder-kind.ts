/**
 * Output of a text encoder: a vector for a text, scores of one text or two, weights of words, or, of late interaction,
 * a vector for each token that counts.
 */
export type EncoderKind = 'embedding' | 'reranker' | 'sparse' | 'late';
