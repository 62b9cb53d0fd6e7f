import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';
import type { FileCalls } from '../../engine/prefix-tier/block-file.ts';
import { isSystemError } from '../../files/system-error.ts';
import { LIMITS } from '../../limits.ts';
import { bytesOfText, type FileFacts, readText, writtenText } from './saved-text.ts';
import type { SlotText } from './slot-texts.ts';

/** Files of ours: a folder that has others as well loses none of them. */
const OWNER = /^[0-9a-f]{64}$/;
const SAVED = /^[0-9a-f]{64}\.slot$/;
const UNFINISHED = /^[0-9a-f]{64}\.[0-9a-f-]{36}\.tmp$/;
/** A write takes no longer: what is older was left by a process that died. */
const LONGEST_WRITE_MS = 5 * 60_000;

export interface SlotFilesOptions {
  /** Folder of the prefixes that leave the KV cache; it may be shared by servers and models. */
  readonly path: string;
  /** Bytes of one client's files. */
  readonly maxBytes: number;
  /** Files unused for longer are removed. */
  readonly maxAgeMs: number;
  /** Identity of the model whose tokens they are. */
  readonly model: string;
  readonly maxTokens: number;
}

interface Found {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/**
 * Texts of clients in files, a folder for each client, under names which nobody can guess who is not that
 * client. A client's names never reach the disk as they are.
 */
export class SlotFiles {
  readonly #options: SlotFilesOptions;
  readonly #files: FileCalls;

  constructor(options: SlotFilesOptions, files: FileCalls = fs) {
    this.#options = options;
    this.#files = files;
  }

  /**
   * Writes a text, all of it or nothing, over what has its name. The client's oldest files make way where
   * they are too many.
   * @returns bytes of the file
   * @throws Error of the system, such as of a full disk
   */
  async save(client: string, name: string, text: SlotText): Promise<number> {
    const content = await writtenText(this.#factsOf(client, name), text);
    const folder = this.#folderOf(client);
    await makeFolder(folder, 0o700);
    const path = this.#pathOf(client, name);
    const unfinished = path.replace(/slot$/, `${randomUUID()}.tmp`);
    try {
      const file = await this.#files.open(unfinished, 'wx', 0o600);
      try {
        await file.writeFile(content);
        await file.sync();
      } finally {
        await file.close();
      }
      await this.#files.rename(unfinished, path);
    } catch (error) {
      await fs.rm(unfinished, { force: true }).catch(() => {});
      throw error;
    }
    await this.#sweep(folder);
    return content.length;
  }

  /** @returns null if the client has no such file, or none that is whole and this model's */
  async read(client: string, name: string): Promise<SlotText | null> {
    const path = this.#pathOf(client, name);
    // A pipe would wait for its writer, a link leads elsewhere.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const file = await this.#files.open(path, flags).catch(absent);
    if (file === null) return null;
    try {
      const { size, mtimeMs } = await file.stat();
      const { maxTokens, maxAgeMs } = this.#options;
      if (size > bytesOfText(maxTokens) || mtimeMs < Date.now() - maxAgeMs) return null;
      const content = Buffer.alloc(size);
      await file.read(content, 0, size, 0);
      const text = await readText(this.#factsOf(client, name), content);
      const now = new Date();
      if (text !== null) await file.utimes(now, now).catch(() => {});
      return text;
    } catch (error) {
      return absent(error);
    } finally {
      await file.close();
    }
  }

  /** Nothing happens if there is no such file. @throws Error of the system */
  async remove(client: string, name: string): Promise<void> {
    await fs.rm(this.#pathOf(client, name), { force: true });
  }

  /** Removes what is too old, of all clients. Never rejects. */
  async sweepAll(): Promise<void> {
    const root = join(this.#options.path, 'slots');
    for (const name of await fs.readdir(root).catch(() => [])) {
      if (OWNER.test(name)) await this.#sweep(join(root, name)).catch(() => {});
    }
  }

  /** Removes a client's files that are too old, and its oldest ones until the rest is within bounds. */
  async #sweep(folder: string): Promise<void> {
    const { maxAgeMs, maxBytes } = this.#options;
    const now = Date.now();
    const kept: Found[] = [];
    for (const name of await fs.readdir(folder)) {
      const isSaved = SAVED.test(name);
      if (!isSaved && !UNFINISHED.test(name)) continue;
      const path = join(folder, name);
      const stats = await fs.lstat(path).catch(() => null);
      if (stats === null) continue;
      const { size, mtimeMs } = stats;
      const isOld = mtimeMs < now - (isSaved ? maxAgeMs : LONGEST_WRITE_MS);
      // Another server may have been quicker.
      if (isOld) await fs.rm(path, { force: true }).catch(() => {});
      else if (isSaved) kept.push({ path, size, mtimeMs });
    }
    kept.sort((a, b) => b.mtimeMs - a.mtimeMs);
    let bytes = kept.reduce((sum, { size }) => sum + size, 0);
    while (kept.length > LIMITS.savedSlots || bytes > maxBytes) {
      const oldest = kept.pop();
      if (oldest === undefined) break;
      bytes -= oldest.size;
      await fs.rm(oldest.path, { force: true }).catch(() => {});
    }
  }

  #factsOf(client: string, name: string): FileFacts {
    return { model: this.#options.model, owner: ownerOf(client), name };
  }

  #folderOf(client: string): string {
    return join(this.#options.path, 'slots', ownerOf(client));
  }

  /** Models have names of their own each: one does not overwrite another's. */
  #pathOf(client: string, name: string): string {
    return join(this.#folderOf(client), `${digestOf(this.#options.model, name)}.slot`);
  }
}

function ownerOf(client: string): string {
  return digestOf('client', client);
}

function digestOf(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Null for a file that is not there, or is none of ours; any other error of the system is thrown. */
function absent(error: unknown): null {
  const codes = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'];
  if (isSystemError(error) && codes.includes(error.code)) return null;
  throw error;
}
