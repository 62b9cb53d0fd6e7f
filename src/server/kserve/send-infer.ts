/** Sends what a model answered: JSON, perhaps followed by raw bytes, in pieces. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import type { ServerEnv } from '../context.ts';
import { bytesOfPieces, writePieces } from '../http/json-pieces.ts';
import { sendJsonPieces } from '../http/send-pieces.ts';
import type { InferBody } from './infer-body.ts';
import { ELEMENTS_PER_PIECE } from './number-data.ts';
import { rawLength, rawPieces } from './raw-tensor.ts';
import type { Tensor } from './tensor.ts';

export async function sendInfer(c: Context<ServerEnv>, body: InferBody): Promise<Response> {
  const { json, numElements, raw } = body;
  if (raw.length > 0) return await sendMixed(c, body);
  if (numElements > ELEMENTS_PER_PIECE) return await sendJsonPieces(c, json);
  return c.body([...json].join(''), 200, { 'content-type': 'application/json' });
}

async function sendMixed(c: Context<ServerEnv>, { json, raw }: InferBody): Promise<Response> {
  // The length of the JSON is told before it, so all of it is made first.
  const head = await bytesOfPieces(json);
  const headLength = head.reduce((sum, { length }) => sum + length, 0);
  const length = raw.reduce((sum, tensor) => sum + rawLength(tensor), headLength);
  c.header('server-timing', c.get('record').serverTiming);
  const { headers } = c.body(null);
  c.env.outgoing.writeHead(200, {
    ...Object.fromEntries(headers),
    'content-type': 'application/octet-stream',
    'content-length': String(length),
    'inference-header-content-length': String(headLength),
  });
  await writePieces(c.env.outgoing, withRaw(head, raw));
  return RESPONSE_ALREADY_SENT;
}

function* withRaw(head: readonly Buffer[], raw: readonly Tensor[]): Generator<Uint8Array, void> {
  yield* head;
  for (const tensor of raw) yield* rawPieces(tensor);
}
