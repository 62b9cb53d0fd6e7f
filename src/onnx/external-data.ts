import { open, type FileHandle } from 'node:fs/promises';

/**
 * Where a tensor may start in an external data file. ONNX Runtime memory-maps tensors in place,
 * and Windows maps files in units of 64 KiB.
 */
const ALIGNMENT = 64 * 1024;

/** One write call must stay below 2 GiB. */
const WRITE_CHUNK = 64 * 1024 * 1024;

/**
 * Bytes after which the disk is told to begin. By itself an operating system waits for half a minute, or gigabytes,
 * so that the last flush of a large model would take as long as all that was computed before it.
 */
const FLUSHED_AT_ONCE = 256 * 1024 * 1024;

/** Place of a tensor in an external data file, in bytes. */
export interface ExternalSpan {
  readonly offset: number;
  readonly length: number;
}

/** Writes tensors one after the other into an external data file, each at an aligned offset. */
export class ExternalDataWriter {
  readonly #file: FileHandle;
  #end = 0;
  /** End of what the disk was told to write. */
  #flushedTo = 0;
  /** Flush that is under way, which never fails; null while there is none. */
  #flushing: Promise<void> | null = null;
  #failure: Error | null = null;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async create(path: string): Promise<ExternalDataWriter> {
    return new ExternalDataWriter(await open(path, 'w'));
  }

  async append(bytes: Uint8Array): Promise<ExternalSpan> {
    const offset = Math.ceil(this.#end / ALIGNMENT) * ALIGNMENT;
    let written = 0;
    while (written < bytes.byteLength) {
      const size = Math.min(WRITE_CHUNK, bytes.byteLength - written);
      const result = await this.#file.write(bytes, written, size, offset + written);
      written += result.bytesWritten;
    }
    this.#end = offset + bytes.byteLength;
    this.#flushMeanwhile();
    return { offset, length: bytes.byteLength };
  }

  /** Flushes what was written to the disk. */
  async sync(): Promise<void> {
    await this.#flushing;
    if (this.#failure !== null) throw this.#failure;
    await this.#file.sync();
  }

  async close(): Promise<void> {
    await this.#flushing;
    await this.#file.close();
  }

  /** Has the disk write what there is while more of it is made. */
  #flushMeanwhile(): void {
    if (this.#flushing !== null || this.#end - this.#flushedTo < FLUSHED_AT_ONCE) return;
    this.#flushedTo = this.#end;
    this.#flushing = this.#flush();
  }

  async #flush(): Promise<void> {
    try {
      await this.#file.datasync();
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    } finally {
      this.#flushing = null;
    }
  }
}
