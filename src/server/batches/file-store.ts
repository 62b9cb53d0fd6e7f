/** Files of clients, on disk: each is its content, and a small file that says what it is. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isWithinShare } from '../../front/queue/queue-shares.ts';
import { moveDurably, removeDurably, writeDurably } from '../../files/durable.ts';
import { LIMITS } from '../../limits.ts';
import { createId } from '../ids.ts';
import { type StoredFile, storedFile } from './stored-file.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { storageFull } from './errors.ts';

const CONTENT = '.jsonl';
const FACTS = '.json';
/** Milliseconds between looks for files whose time is over. */
const SWEEP_MS = 60_000;

export class FileStore {
  readonly #folder: string;
  readonly #maxBytes: number;
  readonly #now: () => number;
  /** In order of their making. */
  readonly #files = new Map<string, StoredFile>();
  /** Uploads that are being written and are no files yet, by id. */
  readonly #growing = new Map<string, { readonly client: string; bytes: number }>();
  readonly #used = new Map<string, number>();
  #numBytes = 0;

  private constructor(folder: string, maxBytes: number, now: () => number) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  /**
   * @param maxBytes of all files together
   * @param now Unix time in seconds
   */
  static async open(folder: string, maxBytes: number, now: () => number): Promise<FileStore> {
    await makeFolder(folder, 0o700);
    const store = new FileStore(folder, maxBytes, now);
    const names = await readdir(folder);
    const files = await Promise.all(
      names
        .filter((name) => name.endsWith(FACTS))
        .map(async (name) =>
          storedFile.parse(JSON.parse(await readFile(join(folder, name), 'utf8'))),
        ),
    );
    for (const file of files.toSorted((a, b) => a.createdAt - b.createdAt)) store.#add(file);
    return store;
  }

  /** Removes what a crash left of files that never were. @param kept ids that are being written */
  async removeUnknown(kept: ReadonlySet<string>): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const id = name.slice(0, name.indexOf('.'));
      if (!this.#files.has(id) && !kept.has(id)) await rm(join(this.#folder, name));
    }
  }

  /** Looks for files whose time is over, now and again. @returns ends that */
  startSweeping(isInUse: (id: string) => boolean): () => void {
    const timer = setInterval(() => {
      const over = [...this.#files.values()].filter(({ expiresAt }) => expiresAt <= this.#now());
      for (const { id } of over) {
        // One that can't be removed now is there at the next look.
        if (!isInUse(id)) void this.#remove(id).catch(() => {});
      }
    }, SWEEP_MS);
    timer.unref();
    return () => clearInterval(timer);
  }

  newId(): string {
    return createId('file-');
  }

  /** Where the content of a file is, or will be. */
  pathOf(id: string): string {
    return join(this.#folder, `${id}${CONTENT}`);
  }

  /** Where it is while it may still turn out to be none. */
  draftOf(id: string): string {
    return `${this.pathOf(id)}.draft`;
  }

  /** File by its id; null if it does not exist, or is another client's. */
  find(id: string, client: string): StoredFile | null {
    const file = this.#files.get(id);
    const isThere = file !== undefined && file.client === client && file.expiresAt > this.#now();
    return isThere ? file : null;
  }

  /** An image of this client; null for no such file, or a larger one. */
  async readImage(id: string, client: string, maxBytes: number): Promise<Buffer | null> {
    const file = this.find(id, client);
    if (file === null || file.purpose !== 'vision' || file.bytes > maxBytes) return null;
    return await readFile(this.pathOf(id));
  }

  /** The newest first. */
  list(client: string): StoredFile[] {
    return [...this.#files.values()]
      .filter(({ id }) => this.find(id, client) !== null)
      .toReversed();
  }

  /**
   * Counts bytes for a client before they are written.
   * @param id of the file that they are for
   * @throws ApiError 429 if there is no room for them
   */
  grow(id: string, client: string, bytes: number): void {
    const used = this.#used.get(client) ?? 0;
    if (!isWithinShare(used, bytes, this.#maxBytes - this.#numBytes)) throw storageFull();
    const growing = this.#growing.get(id) ?? { client, bytes: 0 };
    growing.bytes += bytes;
    this.#growing.set(id, growing);
    this.#charge(client, bytes);
  }

  /** Gives back what `grow` counted. */
  shrink(id: string): void {
    const growing = this.#growing.get(id);
    if (growing === undefined) return;
    this.#growing.delete(id);
    this.#charge(growing.client, -growing.bytes);
  }

  /** @throws ApiError 429 if the client has too many already, or all have */
  requireRoomForFile(client: string): void {
    const own = this.list(client).length;
    if (own >= LIMITS.clientFiles || this.#files.size >= LIMITS.files) throw storageFull();
  }

  /**
   * Makes a file of what is on the disk at `pathOf`.
   * @param seconds that it is kept
   */
  async add(
    file: Omit<StoredFile, 'createdAt' | 'expiresAt'>,
    seconds = LIMITS.fileSeconds,
  ): Promise<StoredFile> {
    const createdAt = this.#now();
    const whole = { ...file, createdAt, expiresAt: createdAt + seconds };
    await writeDurably(this.#factsOf(file.id), JSON.stringify(whole));
    this.shrink(file.id);
    this.#add(whole);
    return whole;
  }

  /** The same for a draft. */
  async addDraft(
    file: Omit<StoredFile, 'createdAt' | 'expiresAt'>,
    seconds?: number,
  ): Promise<StoredFile> {
    await moveDurably(this.draftOf(file.id), this.pathOf(file.id));
    return this.add(file, seconds);
  }

  /** @returns whether there was such a file of this client */
  async delete(id: string, client: string): Promise<boolean> {
    if (this.find(id, client) === null) return false;
    await this.#remove(id);
    return true;
  }

  async #remove(id: string): Promise<void> {
    const file = this.#files.get(id);
    if (file === undefined) return;
    this.#files.delete(id);
    this.#charge(file.client, -file.bytes);
    try {
      // Without its facts it is none, even if a crash leaves its content.
      await removeDurably(this.#factsOf(id));
      await rm(this.pathOf(id), { force: true });
    } catch (error) {
      this.#add(file);
      throw error;
    }
  }

  #add(file: StoredFile): void {
    this.#files.set(file.id, file);
    this.#charge(file.client, file.bytes);
  }

  #charge(client: string, bytes: number): void {
    this.#numBytes += bytes;
    const used = (this.#used.get(client) ?? 0) + bytes;
    if (used > 0) this.#used.set(client, used);
    else this.#used.delete(client);
  }

  #factsOf(id: string): string {
    return join(this.#folder, `${id}${FACTS}`);
  }
}
