import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { isFileError, reasonOf } from '../../files/system-error.ts';
import { ModelError } from '../model-error.ts';
import type { Remote, RemoteFile } from './remote.ts';

/** Times in a row that a connection may break without a byte more. */
const MAX_FAILURES = 5;

export interface RemoteFileOptions {
  /** Called again and again with the bytes that are there. */
  readonly onProgress?: (bytes: number) => void;
  /** Between tries, in milliseconds; twice as long after each that fails. 500 if left out. */
  readonly retryMs?: number;
}

/**
 * Downloads a file, and continues where an earlier try broke off. It gets its name once it is
 * complete.
 * @param commit of the listing that the file is of
 * @throws {ModelError} when the request is rejected, the connection keeps breaking, or the content is
 *   not what it should be
 */
export async function downloadRemoteFile(
  remote: Remote,
  file: RemoteFile,
  commit: string,
  target: string,
  { onProgress = () => {}, retryMs = 500 }: RemoteFileOptions,
): Promise<void> {
  if ((await sizeOf(target)) === file.size) return onProgress(file.size);
  const partial = partialOf(target);
  let failures = 0;
  let have = await sizeOf(partial);
  while (have !== file.size) {
    // Longer than the file: two processes wrote to it at once.
    if (have !== undefined && have > file.size) {
      await rm(partial);
      have = undefined;
    }
    const before = have ?? 0;
    let broken: unknown = null;
    try {
      await fetchRest(remote, file, commit, partial, before, onProgress);
    } catch (error) {
      if (error instanceof ModelError || isFileError(error)) throw error;
      broken = error;
    }
    have = await sizeOf(partial);
    if (broken === null) continue;
    failures = (have ?? 0) > before ? 0 : failures + 1;
    if (failures === MAX_FAILURES) {
      throw new ModelError(
        `${file.name} could not be downloaded from ${remote.endpoint}: the connection broke ` +
          `${MAX_FAILURES} times (${reasonOf(broken)}); what was downloaded is kept, and ` +
          'the next try continues from there',
        { cause: broken },
      );
    }
    await sleep(retryMs * 2 ** failures);
  }
  if (!(await remote.isWhole(file, partial))) {
    await rm(partial);
    throw new ModelError(
      `${file.name} from ${remote.endpoint} is damaged: its hash is not the one that is stated there`,
    );
  }
  await rename(partial, target);
}

/** Where a file's beginning is kept until it is complete. */
export function partialOf(target: string): string {
  return `${target}.partial`;
}

/** Appends what is missing to the partial file. */
async function fetchRest(
  remote: Remote,
  file: RemoteFile,
  commit: string,
  partial: string,
  have: number,
  onProgress: (bytes: number) => void,
): Promise<void> {
  const answer = await remote.ask(file, commit, have);
  const { status, body } = answer;
  if (status >= 500) {
    body.destroy();
    throw new Error(`status ${status}`);
  }
  if (status !== 200 && status !== 206) throw await remote.errorOf(answer, file.name);
  // A server without support for ranges sends everything again.
  let bytes = status === 206 ? have : 0;
  const flags = bytes > 0 ? 'a' : 'w';
  const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes > file.size) throw new ModelError(`${file.name} is longer than was stated`);
      onProgress(bytes);
      yield chunk;
    }
  };
  await pipeline(body, counted, createWriteStream(partial, { flags }));
  if (bytes < file.size) throw new Error('the connection ended early');
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}
