/** How each API answers a line of a batch. */
import type { Caller } from '../../front/caller.ts';
import { LIMITS } from '../../limits.ts';
import type { Prepare } from '../answers/prepared-answer.ts';
import type { ServerContext } from '../context.ts';
import { embeddingsOf, withOwnDeadline } from '../embeddings/embed.ts';
import { ApiError, badRequest } from '../errors.ts';
import { bytesOfPieces, jsonPieces } from '../http/json-pieces.ts';
import type { JsonObject } from '../json-object.ts';
import { acquireKind, acquireModel } from '../model-access.ts';
import { COMPLETION_PATHS } from '../openai/apis.ts';
import { RESPONSES_API } from '../responses/api.ts';
import type { LineResult } from './line-work.ts';

type AnswerLine = (
  context: ServerContext,
  body: JsonObject,
  caller: Caller,
) => Promise<Pick<LineResult, 'body' | 'usage'>>;

const ANSWERS: ReadonlyMap<string, AnswerLine> = new Map([
  ...[...COMPLETION_PATHS].map(([path, prepare]) => [path, generating(prepare)] as const),
  [RESPONSES_API.path, answerResponse],
  ['/v1/embeddings', embed],
]);

/** Endpoints that a batch can use. */
export const BATCH_ENDPOINTS = [...ANSWERS.keys()];

/** @throws ApiError 400 */
export function answerFor(endpoint: string): AnswerLine {
  const answer = ANSWERS.get(endpoint);
  if (answer !== undefined) return answer;
  throw new ApiError(
    400,
    'invalid_request_error',
    `\`endpoint\`: expected one of ${BATCH_ENDPOINTS.join(', ')}.`,
    { param: 'endpoint', code: 'invalid_value' },
  );
}

function generating(prepare: Prepare): AnswerLine {
  return async (context, body, caller) => {
    if (body['stream'] === true) {
      throw badRequest('`stream`: a batch has no streams.', 'stream', 'invalid_value');
    }
    const { model, release } = await acquireModel(context, body, caller);
    try {
      const whole = await (await prepare(model, body, caller, context)).whole(caller);
      return { body: await bytesOfPieces(jsonPieces(whole)), usage: whole['usage'] };
    } finally {
      release();
    }
  };
}

/** Kept for later only where it says so: a batch would push out what conversations go on with. */
function answerResponse(context: ServerContext, body: JsonObject, caller: Caller) {
  if (body['background'] === true) {
    const message = '`background`: a batch is in the background as it is.';
    throw badRequest(message, 'background', 'invalid_value');
  }
  const answer = generating(RESPONSES_API.prepare);
  return answer(context, { ...body, store: body['store'] ?? false }, caller);
}

async function embed(context: ServerContext, body: JsonObject, caller: Caller) {
  const images = context.images.ofRequest();
  const { runtime, release } = await acquireKind(context, body, caller, 'encoder', 'text');
  try {
    const limited = withOwnDeadline(body, caller);
    const answer = await embeddingsOf(runtime, body, limited, images, LIMITS.batchLineTexts);
    const usage = { prompt_tokens: answer.numTokens };
    return { body: await bytesOfPieces(answer.pieces), usage };
  } finally {
    images.release();
    release();
  }
}
