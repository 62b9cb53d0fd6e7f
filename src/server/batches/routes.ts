/** /v1/files and /v1/batches, after OpenAI. */
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Hono } from 'hono';
import { LIMITS } from '../../limits.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { ApiError, badRequest, bodyTooLarge, notImplemented } from '../errors.ts';
import { requireAllowedOrigin } from '../http/cors.ts';
import { tooManyUploads, UploadRoom } from '../http/upload-room.ts';
import type { JsonObject } from '../json-object.ts';
import { accountOf } from '../rates/limit-rates.ts';
import { parseWith } from '../schemas/parse.ts';
import { describeBatch } from './batch-record.ts';
import type { BatchService } from './batch-service.ts';
import { answerFor } from './line-answers.ts';
import { listPage } from './list-page.ts';
import { batchBody, uploadFields } from './schemas.ts';
import { describeFile, type StoredFile } from './stored-file.ts';
import { dropUpload, receiveUpload } from './upload.ts';
import { told } from '../../told.ts';

export function fileRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const room = new UploadRoom(LIMITS.uploads, LIMITS.clientUploads);
  app.post('/v1/files', async (c) => {
    // Web pages can send forms, and bodies of nothing, without asking first.
    requireAllowedOrigin(c.env.incoming, context.config);
    const { files } = serviceOf(context);
    const client = clientOf(c);
    files.requireRoomForFile(client);
    const leave = room.enter(client);
    if (leave === null) throw tooManyUploads(LIMITS.clientUploads);
    try {
      const { id, filename, bytes, fields } = await receiveUpload(files, c.env.incoming, client);
      try {
        const known = parseWith(uploadFields, fields);
        if (known.purpose === 'vision' && bytes > LIMITS.imageBytes) {
          throw bodyTooLarge(LIMITS.imageBytes);
        }
        const file = { id, client, purpose: known.purpose, filename, bytes };
        return c.json(describeFile(await files.addDraft(file, known['expires_after[seconds]'])));
      } catch (error) {
        await dropUpload(files, id);
        throw error;
      }
    } finally {
      leave();
    }
  });
  app.get('/v1/files', (c) => {
    const purpose = c.req.query('purpose');
    const own = serviceOf(context).files.list(clientOf(c));
    const wanted = purpose === undefined ? own : own.filter((file) => file.purpose === purpose);
    return c.json(listPage(wanted, c.req.query(), describeFile));
  });
  app.get('/v1/files/:id', (c) => c.json(describeFile(findFile(context, c))));
  app.get('/v1/files/:id/content', async (c) => {
    const file = findFile(context, c);
    const { outgoing } = c.env;
    const headers = c.body(null).headers;
    outgoing.writeHead(200, {
      ...Object.fromEntries(headers),
      'content-type': file.purpose === 'vision' ? 'application/octet-stream' : 'application/jsonl',
      'content-length': file.bytes,
    });
    // A client that leaves ends it: nothing can be answered any more.
    await pipeline(createReadStream(serviceOf(context).files.pathOf(file.id)), outgoing).catch(() =>
      outgoing.destroy(),
    );
    return RESPONSE_ALREADY_SENT;
  });
  app.delete('/v1/files/:id', async (c) => {
    const { id } = findFile(context, c);
    const service = serviceOf(context);
    if (service.isInUse(id)) {
      throw badRequest('A batch that has not ended needs this file.', null, 'file_in_use');
    }
    await service.files.delete(id, clientOf(c));
    return c.json({ id, object: 'file', deleted: true });
  });
}

export function batchRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.post('/v1/batches', async (c) => {
    const service = serviceOf(context);
    const client = clientOf(c);
    const body = parseWith(batchBody, await context.bodies.read(c.env.incoming, client));
    answerFor(body.endpoint);
    const input = service.files.find(body.input_file_id, client);
    if (input === null) throw noSuchFile(body.input_file_id, 'input_file_id');
    if (input.purpose !== 'batch') {
      const message = `\`input_file_id\`: the file is for \`${input.purpose}\`, not for a batch.`;
      throw badRequest(message, 'input_file_id', 'invalid_value');
    }
    const batch = await service.create({
      client,
      account: accountOf(client, c.env.incoming),
      endpoint: body.endpoint,
      inputFileId: input.id,
      outputSeconds: body.output_expires_after?.seconds ?? LIMITS.fileSeconds,
      metadata: body.metadata ?? null,
    });
    return c.json(describeBatch(batch));
  });
  app.get('/v1/batches', (c) =>
    c.json(
      listPage(serviceOf(context).list(whoseBatches(context, c)), c.req.query(), describeBatch),
    ),
  );
  app.get('/v1/batches/:id', (c) => c.json(findBatch(context, c)));
  app.post('/v1/batches/:id/cancel', async (c) => {
    requireAllowedOrigin(c.env.incoming, context.config);
    // Another client's is as unknown as one that never was.
    const found = findBatch(context, c);
    await serviceOf(context).cancel(String(found['id']));
    return c.json(findBatch(context, c));
  });
}

/** @throws ApiError 501 where the operator has set no folder for it */
function serviceOf({ batches }: ServerContext): BatchService {
  if (batches !== undefined) return batches;
  throw notImplemented('This server keeps no files and batches; see --batch-dir.');
}

function clientOf(c: Context<ServerEnv>): string {
  return c.get('client') ?? '';
}

/** Null for the operator, who sees all of them: one may be of a client whose key is gone. */
function whoseBatches(context: ServerContext, c: Context<ServerEnv>): string | null {
  return context.keys.isAdmin(c.env.incoming.headers) ? null : clientOf(c);
}

function findFile(context: ServerContext, c: Context<ServerEnv>): StoredFile {
  const id = c.req.param('id') ?? '';
  const file = serviceOf(context).files.find(id, clientOf(c));
  if (file === null) throw noSuchFile(id, 'id');
  return file;
}

function findBatch(context: ServerContext, c: Context<ServerEnv>): JsonObject {
  const id = c.req.param('id') ?? '';
  const batch = serviceOf(context).find(id, whoseBatches(context, c));
  if (batch !== null) return describeBatch(batch);
  const message = `No batch '${told(id, 100)}' of yours.`;
  throw new ApiError(404, 'NotFoundError', message, { param: 'id', code: 'batch_not_found' });
}

function noSuchFile(id: string, param: string): ApiError {
  const message = `No file '${told(id, 100)}' of yours.`;
  return new ApiError(404, 'NotFoundError', message, { param, code: 'file_not_found' });
}
