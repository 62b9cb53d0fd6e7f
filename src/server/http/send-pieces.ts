import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import type { ServerEnv } from '../context.ts';
import type { JsonObject } from '../json-object.ts';
import { holdAnswer } from './hold-answer.ts';
import { bytesOfPieces, jsonPieces, writeJsonPieces } from './json-pieces.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** Answers with JSON that is made piece by piece, with the headers that middlewares have set. */
export async function sendJsonPieces(
  c: Context<ServerEnv>,
  pieces: Iterable<string | Uint8Array>,
): Promise<Response> {
  c.header('server-timing', c.get('record').serverTiming);
  // A response never sent: it holds these headers.
  await writeJsonPieces(c.env.outgoing, pieces, c.body(null).headers);
  return RESPONSE_ALREADY_SENT;
}

/** Answers with an object: one that is small at once, any other in pieces. @throws as `holdAnswer` */
export async function sendJson(c: Context<ServerEnv>, object: JsonObject): Promise<Response> {
  const pieces = jsonPieces(object);
  const first = pieces.next();
  const second = pieces.next();
  if (second.done === true) return c.body(first.value ?? '', 200, JSON_TYPE);
  // Objects take several times the memory of their text, and nobody knows how much.
  const bytes = await bytesOfPieces(following([first.value ?? '', second.value], pieces));
  holdAnswer(c, { numBytes: bytes.reduce((sum, { length }) => sum + length, 0) });
  return await sendJsonPieces(c, bytes);
}

function* following(first: readonly string[], rest: Iterable<string>): Generator<string, void> {
  yield* first;
  yield* rest;
}
