/** Answers of embeddings, reranking and scoring, as OpenAI, Jina, Cohere, vLLM and TEI have it. */
import type { Embeddings, Scores } from '../../front/embedding/embed-request.ts';
import type { JsonObject } from '../json-object.ts';
import type { RerankRequest, TeiRerankRequest } from './rerank-body.ts';

/** Memory of vectors until they are written. */
export function bytesOfVectors({ vectors }: Pick<Embeddings, 'vectors'>): number {
  return vectors.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Tokens of a request that generates none, as OpenAI has them. */
export function usageOf(numTokens: number) {
  return { prompt_tokens: numTokens, total_tokens: numTokens };
}

/** Numbers that are written in a turn of the event loop: some 2 ms. */
const NUMBERS_PER_PIECE = 4096;

/**
 * OpenAI's answer of vectors, in pieces of JSON: 2,048 vectors of 1,024 numbers take half a second to
 * write, and others must get their turn in between.
 * @param encodingFormat `base64` is that of little-endian float32
 */
export function* embeddingsAnswer(
  { vectors, numTokens }: Pick<Embeddings, 'vectors' | 'numTokens'>,
  model: string,
  encodingFormat: 'float' | 'base64',
): Generator<string, void> {
  const written = encodingFormat === 'base64' ? toBase64 : toJson;
  yield '{"object":"list","data":[';
  yield* joined(vectors, (vector, index) => {
    return `{"object":"embedding","index":${index},"embedding":${written(vector)}}`;
  });
  yield `],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usageOf(numTokens))}}`;
}

/** TEI's answer of vectors: nothing but them. */
export function* teiEmbedAnswer({ vectors }: Pick<Embeddings, 'vectors'>): Generator<string, void> {
  yield '[';
  yield* joined(vectors, toJson);
  yield ']';
}

/** Ollama's answer of vectors. @param rest what follows them */
export function* ollamaEmbedAnswer(
  { vectors }: Pick<Embeddings, 'vectors'>,
  model: string,
  rest: JsonObject,
): Generator<string, void> {
  yield `{"model":${JSON.stringify(model)},"embeddings":[`;
  yield* joined(vectors, toJson);
  yield `],${JSON.stringify(rest).slice(1)}`;
}

/** The text of each, with commas in between, in pieces. */
export function* joined(
  vectors: readonly Float32Array[],
  written: (vector: Float32Array, index: number) => string,
): Generator<string, void> {
  let piece = '';
  let numbers = 0;
  for (const [index, vector] of vectors.entries()) {
    piece += `${index === 0 ? '' : ','}${written(vector, index)}`;
    numbers += vector.length;
    if (numbers < NUMBERS_PER_PIECE) continue;
    yield piece;
    piece = '';
    numbers = 0;
  }
  yield piece;
}

export function toJson(vector: Float32Array): string {
  return JSON.stringify(Array.from(vector));
}

export function toBase64({ buffer, byteOffset, byteLength }: Float32Array): string {
  return `"${Buffer.from(buffer, byteOffset, byteLength).toString('base64')}"`;
}

/** Jina's and Cohere's answer: documents by how relevant they are. */
export function rerankAnswer(
  { scores, numTokens }: Scores,
  { documents, top_n: topN, return_documents: withDocuments }: RerankRequest,
  { id, model }: { readonly id: string; readonly model: string },
) {
  const results = ranked(scores)
    .slice(0, topN ?? documents.length)
    .map((index) => ({
      index,
      ...(withDocuments === true ? documentOf(documents[index]) : {}),
      relevance_score: scores[index] ?? 0,
    }));
  return { id, model, usage: usageOf(numTokens), results };
}

/** vLLM's answer: a score for each pair. */
export function scoreAnswer(
  { scores, numTokens }: Scores,
  { id, model, created }: { readonly id: string; readonly model: string; readonly created: number },
) {
  return {
    id,
    object: 'list',
    created,
    model,
    data: Array.from(scores, (score, index) => ({ index, object: 'score', score })),
    usage: usageOf(numTokens),
  };
}

/** TEI's answer: texts by how relevant they are. */
export function teiRerankAnswer(
  { scores, logits }: Scores,
  { texts, raw_scores: isRaw, return_text: withText }: TeiRerankRequest,
) {
  const told = isRaw === true ? logits : scores;
  return ranked(told).map((index) => ({
    index,
    score: told[index] ?? 0,
    ...(withText === true ? textOf(texts[index]) : {}),
  }));
}

/** Images are not told again: their client has them, and they may have megabytes. */
function textOf(given: RerankRequest['query'] | undefined): { readonly text?: string } {
  return typeof given === 'string' ? { text: given } : {};
}

function documentOf(given: RerankRequest['query'] | undefined) {
  return typeof given === 'string' ? { document: textOf(given) } : {};
}

/** Places of scores, the highest first. */
function ranked(scores: Float32Array): number[] {
  const places = Array.from(scores, (_score, index) => index);
  return places.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
}
