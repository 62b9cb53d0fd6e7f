/** /v1/embeddings: from its body to its answer, whoever asks. */
import type { Caller } from '../../front/caller.ts';
import type { EncoderRuntime, TextRuntime } from '../runtimes.ts';
import { badRequest } from '../errors.ts';
import { withDeadline } from '../../front/deadline.ts';
import { bytesOfVectors, embeddingsAnswer } from './answers.ts';
import { parseEmbeddings } from './bodies.ts';

/** Models that make vectors and scores: encoders, and models that generate text. */
export type EmbeddingRuntime = Pick<EncoderRuntime | TextRuntime, 'encoder' | 'model'>;

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
 * @param maxInputs texts that it may have; as many as the schema lets if left out
 * @throws ApiError 400; as TextEncoder.embed
 */
export async function embeddingsOf(
  { encoder, model }: EmbeddingRuntime,
  json: unknown,
  caller: Caller,
  maxInputs = Infinity,
): Promise<EmbeddingsAnswer> {
  const body = parseEmbeddings(json);
  if (body.inputs.length > maxInputs) {
    const message = `\`input\`: expected at most ${maxInputs} texts, found ${body.inputs.length}.`;
    throw badRequest(message, 'input', 'invalid_value');
  }
  const options = {
    dimensions: body.dimensions ?? null,
    promptName: body.prompt_name ?? null,
    truncate: typeof body.truncate_prompt_tokens === 'number',
    priority: caller.isOfBatch === true ? LAST : (body.priority ?? 0),
  };
  const embeddings = await encoder.embed(body.inputs, options, caller);
  const { numTokens } = embeddings;
  const pieces = embeddingsAnswer(embeddings, model.id, body.encoding_format ?? 'float');
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
