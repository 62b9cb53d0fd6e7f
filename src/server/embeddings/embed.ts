/** /v1/embeddings: from its body to its answer, whoever asks. */
import type { Caller } from '../../front/caller.ts';
import type { ImageReader } from '../../front/chat/chat-images.ts';
import { badRequest } from '../errors.ts';
import { withDeadline } from '../../front/deadline.ts';
import { bytesOfVectors, embeddingsAnswer } from './answers.ts';
import type { EmbeddingRuntime } from './embedding-runtime.ts';
import { parseEmbeddings } from './embeddings-body.ts';
import { embedMixed } from './mixed.ts';

/** Behind all that somebody waits for. */
const LAST = Number.MAX_SAFE_INTEGER;

/** As the bodies' schemas have it; what is longer they refuse. */
const MAX_TIMEOUT_SECONDS = 86_400;

/** An answer that is written piece by piece. */
export interface EmbeddingsAnswer {
  /** JSON, put together. */
  readonly pieces: Iterable<string>;
  /** In memory until they are all written. */
  readonly numBytes: number;
  /** Tokens of the texts. */
  readonly numTokens: number;
}

/**
 * @param reader of the request's images
 * @param maxInputs texts that it may have; as many as the schema lets if left out
 * @throws ApiError 400; as embedMixed
 */
export async function embeddingsOf(
  runtime: EmbeddingRuntime,
  json: unknown,
  caller: Caller,
  reader: ImageReader,
  maxInputs = Infinity,
): Promise<EmbeddingsAnswer> {
  const body = parseEmbeddings(json);
  if (body.inputs.length > maxInputs) {
    const message = `\`input\`: expected at most ${maxInputs} texts, found ${body.inputs.length}.`;
    throw badRequest(message, 'input', 'invalid_value');
  }
  if (body.isChat && !runtime.images) {
    const message = '`messages`: this model embeds no images: send the text as `input`.';
    throw badRequest(message, 'messages', 'model_not_supported');
  }
  const options = {
    dimensions: body.dimensions ?? null,
    promptName: body.prompt_name ?? null,
    truncate: typeof body.truncate_prompt_tokens === 'number',
    priority: caller.isOfBatch === true ? LAST : (body.priority ?? 0),
  };
  const embeddings = await embedMixed(runtime, body.inputs, options, caller, reader);
  const { numTokens } = embeddings;
  const pieces = embeddingsAnswer(embeddings, runtime.model.id, body.encoding_format ?? 'float');
  return { pieces, numBytes: bytesOfVectors(embeddings), numTokens };
}

/** Within the time that the body itself asks for. */
export function withOwnDeadline(json: unknown, caller: Caller): Caller {
  const hasTimeout = typeof json === 'object' && json !== null && 'timeout' in json;
  const seconds = hasTimeout ? json.timeout : null;
  if (typeof seconds !== 'number' || !(seconds > 0) || seconds > MAX_TIMEOUT_SECONDS) {
    return caller;
  }
  return { ...caller, signal: withDeadline(caller.signal, Math.ceil(seconds * 1000)) };
}
