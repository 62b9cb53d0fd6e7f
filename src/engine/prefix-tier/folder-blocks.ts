import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { isSystemError, reasonOf } from '../../files/system-error.ts';
import type { BlockKey } from './block-names.ts';
import {
  type BlockOrigin,
  type FileCalls,
  HEADER_BYTES,
  readBlockFile,
  writeBlockFile,
} from './block-file.ts';
import { type FolderOptions, sweepFolder } from './folder-sweep.ts';

/** After a failed write nothing is written for this long: a full disk stays full for a while. */
const PAUSE_MS = 30_000;
/** Time for which trouble that was told is not told again: a failing disk fails at each block. */
const SILENCE_MS = 60_000;
/** Servers of one folder may exceed its bound by this share each, before they look again. */
const SHARE_BETWEEN_SWEEPS = 1 / 16;
const LONGEST_BETWEEN_SWEEPS_MS = 60 * 60_000;

/**
 * Blocks in files of a folder, which other models and servers use as well: whatever is found there may
 * be damaged, and may be gone the next moment. No method rejects: trouble is counted, and is a miss.
 */
export class FolderBlocks {
  readonly #options: FolderOptions;
  readonly #origin: BlockOrigin;
  readonly #blockBytes: number;
  readonly #tell: (trouble: string) => void;
  readonly #files: FileCalls;
  readonly #timer: NodeJS.Timeout;
  #numUnfinished = 0;
  #numErrors = 0;
  #silentUntil = 0;
  #pausedUntil = 0;
  #bytes = 0;
  #size = 0;
  /** Since the last sweep. */
  #newBytes = 0;
  #sweeping: Promise<void> | null = null;

  /**
   * @param blockBytes of each block of this model
   * @param tell hears of trouble, now and then
   */
  constructor(
    options: FolderOptions,
    origin: BlockOrigin,
    blockBytes: number,
    tell: (trouble: string) => void = () => {},
    files: FileCalls = fs,
  ) {
    this.#options = options;
    this.#origin = origin;
    this.#blockBytes = blockBytes;
    this.#tell = tell;
    this.#files = files;
    const everyMs = Math.min(LONGEST_BETWEEN_SWEEPS_MS, Math.max(1000, options.maxAgeMs / 10));
    this.#timer = setInterval(() => void this.sweep(), everyMs).unref();
    void this.sweep();
  }

  /** Bytes of all files, as far as known. */
  get byteLength(): number {
    return this.#bytes;
  }

  /** Number of all files, as far as known. */
  get size(): number {
    return this.#size;
  }

  /** Files that could not be read or written, or were damaged. */
  get numErrors(): number {
    return this.#numErrors;
  }

  async has({ name }: BlockKey): Promise<boolean> {
    try {
      const { size, mtimeMs } = await fs.stat(this.#pathOf(name));
      const isFresh = mtimeMs > Date.now() - this.#options.maxAgeMs;
      return isFresh && size === HEADER_BYTES + this.#blockBytes;
    } catch (error) {
      if (!isAbsent(error)) this.#count(error);
      return false;
    }
  }

  /** @returns null if there is no such file, or none that is whole */
  async read(key: BlockKey): Promise<Uint8Array | null> {
    const path = this.#pathOf(key.name);
    try {
      const bytes = await readBlockFile(this.#files, path, this.#origin, key, this.#blockBytes);
      if (bytes === null) {
        this.#count(new Error(`${path} is damaged`));
        await this.#files.rm(path, { force: true });
      }
      return bytes;
    } catch (error) {
      if (!isAbsent(error)) this.#count(error);
      return null;
    }
  }

  async write(key: BlockKey, bytes: Uint8Array): Promise<void> {
    if (Date.now() < this.#pausedUntil) return;
    const { path, maxBytes } = this.#options;
    const length = HEADER_BYTES + bytes.byteLength;
    if (length > maxBytes) return;
    // Processes have numbers of their own each, those of other containers perhaps the same: so is a time.
    const own = `${process.pid}-${Date.now()}-${this.#numUnfinished++}`;
    const unfinished = join(path, `${key.name}.${own}.tmp`);
    try {
      const content = [this.#origin, key, bytes] as const;
      await writeBlockFile(this.#files, this.#pathOf(key.name), unfinished, content);
    } catch (error) {
      this.#count(error);
      this.#pausedUntil = Date.now() + PAUSE_MS;
      return;
    }
    this.#bytes += length;
    this.#size++;
    this.#newBytes += length;
    if (this.#bytes > maxBytes || this.#newBytes > maxBytes * SHARE_BETWEEN_SWEEPS) {
      await this.sweep();
    }
  }

  /** A text's blocks were used: its first ones make way last, since the others are nothing without them. */
  async touch(names: readonly string[]): Promise<void> {
    const now = Date.now();
    await Promise.all(
      names.map(async (name, index) => {
        const at = (now - index) / 1000;
        await fs.utimes(this.#pathOf(name), at, at).catch(() => {});
      }),
    );
  }

  /** Removes what is too old or too much, and counts the rest. Several at once are one. */
  async sweep(): Promise<void> {
    this.#sweeping ??= this.#sweepNow();
    await this.#sweeping;
  }

  async #sweepNow(): Promise<void> {
    try {
      this.#newBytes = 0;
      const { bytes, size } = await sweepFolder(this.#options);
      this.#bytes = bytes + this.#newBytes;
      this.#size = size;
    } catch (error) {
      this.#count(error);
    } finally {
      this.#sweeping = null;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #pathOf(name: string): string {
    return join(this.#options.path, `${name}.kv`);
  }

  #count(error: unknown): void {
    this.#numErrors++;
    if (Date.now() < this.#silentUntil) return;
    this.#silentUntil = Date.now() + SILENCE_MS;
    this.#tell(reasonOf(error));
  }
}

function isAbsent(error: unknown): boolean {
  return isSystemError(error) && error.code === 'ENOENT';
}
