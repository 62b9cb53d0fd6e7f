import type { EncoderKind } from '../../model/encoder/encoder-kind.ts';
import { EncoderInputError } from './embed-request.ts';

/** Uses of encoders, in words for clients. */
export const USES: Readonly<Record<EncoderKind, string>> = {
  embedding: 'makes embeddings',
  reranker: 'scores pairs of texts',
  sparse: 'gives weights of words',
  late: 'gives vectors of tokens',
};

const OTHERS: Readonly<Record<EncoderKind, string>> = {
  embedding: 'makes no embeddings',
  reranker: 'scores no pairs of texts',
  sparse: 'gives no weights of words',
  late: 'gives no vectors of tokens',
};

/** @throws EncoderInputError where a model is of another kind than is wanted */
export function requireKind(kind: EncoderKind, wanted: EncoderKind): void {
  if (kind === wanted) return;
  throw new EncoderInputError(`the model ${USES[kind]} and ${OTHERS[wanted]}`);
}
