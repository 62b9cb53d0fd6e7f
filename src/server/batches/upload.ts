/** Receives one file of a form, and writes it to the disk as it comes in. */
import { createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { Transform } from 'node:stream';
import type { BusboyFileStream } from '@fastify/busboy';
import { guarded } from '../../guarded.ts';
import { LIMITS } from '../../limits.ts';
import { bodyTooLarge } from '../errors.ts';
import { fileMissing, formError, newForm, readForm, toError } from '../http/form.ts';
import type { FileStore } from './file-store.ts';
import { told } from '../../told.ts';

const MAX_FIELDS = 16;
const MAX_FIELD_BYTES = 1024;

export interface Upload {
  readonly id: string;
  readonly filename: string;
  readonly bytes: number;
  /** The form's other fields. */
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * Writes a draft; its caller makes a file of it, or drops it.
 * @throws ApiError 400 for what is no such form, 413 for a file that is too large, 429 for one that
 *   there is no room for, 408 if it is cut short
 */
export async function receiveUpload(
  files: FileStore,
  incoming: IncomingMessage,
  client: string,
): Promise<Upload> {
  const id = files.newId();
  try {
    return await receive(files, incoming, client, id);
  } catch (error) {
    await dropUpload(files, id);
    throw error;
  }
}

/** Removes a draft. */
export async function dropUpload(files: FileStore, id: string): Promise<void> {
  files.shrink(id);
  await rm(files.draftOf(id), { force: true });
}

async function receive(
  files: FileStore,
  incoming: IncomingMessage,
  client: string,
  id: string,
): Promise<Upload> {
  const form = newForm(incoming, { fields: MAX_FIELDS, fieldBytes: MAX_FIELD_BYTES });
  const fields: Record<string, string> = {};
  let filename: string | undefined;
  let bytes = 0;
  let writing: Promise<void> | null = null;
  const failed = new AbortController();
  const write = async (stream: BusboyFileStream): Promise<void> => {
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        try {
          bytes += chunk.length;
          if (bytes > LIMITS.fileBytes) throw bodyTooLarge(LIMITS.fileBytes);
          files.grow(id, client, chunk.length);
          done(null, chunk);
        } catch (error) {
          done(toError(error));
        }
      },
    });
    const file = createWriteStream(files.draftOf(id), { mode: 0o600 });
    await pipeline(stream, counted, file, { signal: failed.signal });
  };
  // The rest of the form is not worth reading.
  const fail = (error: unknown): void => void form.destroy(toError(error));
  const takeField = (name: string, value: string): void => {
    fields[name] = value;
  };
  const takeFile = (name: string, stream: BusboyFileStream, given: string): void => {
    if (name !== 'file' || writing !== null) {
      stream.resume();
      return;
    }
    filename = given;
    writing = write(stream);
    // It is awaited below, after the form.
    writing.catch(fail);
  };
  form.on('field', guarded(takeField, fail)).on('file', guarded(takeFile, fail));
  try {
    await readForm(incoming, form);
    await (writing as Promise<void> | null);
  } catch (error) {
    // Until it has ended, it could make the draft again that is about to be removed.
    failed.abort();
    await (writing as Promise<void> | null)?.catch(() => {});
    throw formError(error, incoming);
  }
  if (writing === null) throw fileMissing();
  await sync(files.draftOf(id));
  return { id, filename: nameOf(filename), bytes, fields };
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Name of the client's file: shown, and never used as a path. */
function nameOf(filename: string | undefined): string {
  return told(filename ?? 'file', LIMITS.shortTextCharacters);
}
