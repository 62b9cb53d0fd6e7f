/** Forms with a file (`multipart/form-data`), read as they come in. */
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { guarded } from '../../guarded.ts';
import { LIMITS } from '../../limits.ts';
import { told } from '../../told.ts';
import { ApiError, badRequest } from '../errors.ts';
import { SMALL_PIECE_BYTES } from './request-body.ts';

const MAX_HEADERS = 32;

export interface FormLimits {
  /** Fields beside the file, further ones are left out; and bytes of each, which is cut off beyond. */
  readonly fields: number;
  readonly fieldBytes: number;
}

/**
 * A reader of the body of `incoming`, which has at most one file.
 * @throws ApiError 415 for another media type, 400 for what says nothing of its parts
 */
export function newForm(
  { headers }: IncomingMessage,
  { fields, fieldBytes }: FormLimits,
): BusboyInstance {
  const type = headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*;/i.test(type)) {
    throw new ApiError(415, 'invalid_request_error', 'Expected `multipart/form-data`.', {
      code: 'unsupported_media_type',
    });
  }
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': type },
      limits: {
        fields,
        fieldSize: fieldBytes,
        files: 1,
        parts: fields + 1,
        headerPairs: MAX_HEADERS,
      },
    });
  } catch (error) {
    throw badForm(error);
  }
}

/**
 * Feeds a body to its reader, to its end. Reads and drops the rest of a form that fails: `pipeline` would end the
 * request, and Node would read nothing more from the connection, on which the client's next request comes.
 */
export function readForm(incoming: IncomingMessage, form: BusboyInstance): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = (): void => {
      if (!incoming.complete) form.destroy(new Error('the request was closed'));
    };
    incoming.once('close', onClose);
    let numSmall = 0;
    const count = (chunk: Buffer): void => {
      if (chunk.length >= SMALL_PIECE_BYTES || ++numSmall <= LIMITS.smallBodyPieces) return;
      form.destroy(badRequest('The body comes in too many small pieces.'));
      // Reading the rest would cost as much again.
      incoming.destroy();
    };
    const onData = guarded(count, (error) => form.destroy(toError(error)));
    incoming.on('data', onData);
    const onEnd = (error?: Error | null): void => {
      incoming.off('close', onClose).off('data', onData);
      if (!error) return resolve();
      incoming.unpipe(form).resume();
      reject(error);
    };
    finished(form, guarded(onEnd, reject));
    incoming.pipe(form);
  });
}

/** Told to a client whose form could not be read. */
export function formError(error: unknown, incoming: IncomingMessage): ApiError {
  if (error instanceof ApiError) return error;
  if (incoming.destroyed && !incoming.complete) {
    return new ApiError(408, 'invalid_request_error', 'The body was cut short.');
  }
  return badForm(error);
}

export function fileMissing(): ApiError {
  return badRequest('`file` is required.', 'file', 'missing_required_parameter');
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function badForm(error: unknown): ApiError {
  const reason = error instanceof Error ? told(error.message, 200) : '';
  return badRequest(`The form can't be read: ${reason}.`, null, 'invalid_form');
}
