import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { ModelError } from './errors.ts';
import { hubFetch, type HubAccess, type HubFile, refusal } from './hub-repository.ts';

/** Times in a row that a connection may break without a byte more. */
const MAX_FAILURES = 5;

export interface HubFileOptions {
  readonly access: HubAccess;
  /** Called again and again with the bytes that are there. */
  readonly onProgress?: (bytes: number) => void;
  /** Between tries, in milliseconds; twice as long after each that fails. 500 if left out. */
  readonly retryMs?: number;
}

/**
 * Downloads a file, and goes on where an earlier try was cut off. It has its name once it is whole.
 * @param path on the hub, such as `/owner/name/resolve/commit/file`
 * @throws {ModelError} when the hub refuses, the connection keeps breaking, or the content is not what
 *   the hub said it is
 */
export async function downloadHubFile(
  file: HubFile,
  path: string,
  target: string,
  { access, onProgress = () => {}, retryMs = 500 }: HubFileOptions,
): Promise<void> {
  if ((await sizeOf(target)) === file.size) return onProgress(file.size);
  const partial = `${target}.partial`;
  let failures = 0;
  while ((await sizeOf(partial)) !== file.size) {
    // Longer than the whole: two processes wrote to it at once.
    if (((await sizeOf(partial)) ?? 0) > file.size) await rm(partial);
    const before = (await sizeOf(partial)) ?? 0;
    try {
      await fetchRest(file, path, partial, before, access, onProgress);
    } catch (error) {
      if (error instanceof ModelError) throw error;
      const after = (await sizeOf(partial)) ?? 0;
      failures = after > before ? 0 : failures + 1;
      if (failures === MAX_FAILURES) {
        throw new ModelError(
          `${file.name} could not be downloaded from ${access.endpoint}: the connection broke ` +
            `${MAX_FAILURES} times; what is there is kept, and the next try goes on from it`,
          { cause: error },
        );
      }
      await sleep(retryMs * 2 ** failures);
    }
  }
  if (file.sha256 !== null && (await sha256Of(partial)) !== file.sha256) {
    await rm(partial);
    throw new ModelError(
      `${file.name} from ${access.endpoint} is damaged: its hash is not the hub's`,
    );
  }
  await rename(partial, target);
}

/** Appends what is missing to the partial file. */
async function fetchRest(
  file: HubFile,
  path: string,
  partial: string,
  have: number,
  access: HubAccess,
  onProgress: (bytes: number) => void,
): Promise<void> {
  const response = await hubFetch(path, access, have > 0 ? { range: `bytes=${have}-` } : {});
  if (response.status >= 500) throw new Error(`status ${response.status}`);
  if (!response.ok) throw refusal(response.status, file.name, access);
  // A server that knows no ranges sends everything again.
  let bytes = response.status === 206 ? have : 0;
  const flags = bytes > 0 ? 'a' : 'w';
  const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes > file.size) throw new ModelError(`${file.name} is longer than the hub said`);
      onProgress(bytes);
      yield chunk;
    }
  };
  const body = response.body ? Readable.fromWeb(response.body) : Readable.from([]);
  await pipeline(body, counted, createWriteStream(partial, { flags }));
  if (bytes < file.size) throw new Error('the connection ended early');
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
