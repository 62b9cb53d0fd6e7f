/** Receives a form with a file of sound, into memory. */
import type { IncomingMessage } from 'node:http';
import type { BusboyFileStream } from '@fastify/busboy';
import { AUDIO_LIMITS } from '../../audio-limits.ts';
import { guarded } from '../../guarded.ts';
import { badRequest, bodyTooLarge } from '../errors.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import { fileMissing, formError, newForm, readForm, toError } from '../http/form.ts';

const MAX_FIELDS = 32;
const MAX_FIELD_BYTES = 16 * 2 ** 10;

export interface AudioForm {
  readonly file: Uint8Array;
  /** Other fields and their values, which are several where a field comes more than once. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  /** Gives back what the file is charged as; may be called several times. */
  release(): void;
}

/**
 * @param budget that `client` is charged at, until the form is released
 * @throws ApiError 400 for what is no such form, 413 for a file that is too large, 429 or 503 where too much is
 *   read at once, 408 if it is cut short
 */
export async function receiveAudio(
  incoming: IncomingMessage,
  budget: BodyBudget,
  client: string,
): Promise<AudioForm> {
  const form = newForm(incoming, { fields: MAX_FIELDS, fieldBytes: MAX_FIELD_BYTES });
  const fields = new Map<string, string[]>();
  let pieces: Buffer[] | null = null;
  let bytes = 0;
  const release = (): void => {
    budget.release(client, bytes);
    bytes = 0;
  };
  // The rest of the form is not worth reading.
  const fail = (error: unknown): void => void form.destroy(toError(error));
  const takeField = (name: string, value: string, isNameCut: boolean, isCut: boolean): void => {
    if (isNameCut || isCut) throw fieldTooLong(name);
    fields.set(name, [...(fields.get(name) ?? []), value]);
  };
  const takeFile = (name: string, stream: BusboyFileStream): void => {
    if (name !== 'file' || pieces !== null) {
      stream.resume();
      return;
    }
    const own: Buffer[] = [];
    pieces = own;
    const take = (piece: Buffer): void => {
      if (bytes + piece.length > AUDIO_LIMITS.audioBytes) {
        throw bodyTooLarge(AUDIO_LIMITS.audioBytes);
      }
      budget.charge(client, piece.length);
      bytes += piece.length;
      own.push(piece);
    };
    stream.on('data', guarded(take, fail)).on('error', fail);
  };
  form.on('field', guarded(takeField, fail)).on('file', guarded(takeFile, fail));
  try {
    await readForm(incoming, form);
    if (pieces === null) throw fileMissing();
    return { file: Buffer.concat(pieces), fields, release };
  } catch (error) {
    release();
    throw formError(error, incoming);
  }
}

function fieldTooLong(name: string): Error {
  const message = `\`${name}\`: expected at most ${MAX_FIELD_BYTES} bytes.`;
  return badRequest(message, name, 'invalid_value');
}
