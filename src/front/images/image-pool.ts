import { numPixels } from '../../images/decode.ts';
import { ImageError } from '../../images/image-error.ts';
import { LIMITS } from '../../limits.ts';
import type { Caller } from '../caller.ts';
import { ProcessPool } from '../../threads/process-pool.ts';
import { FairPool, TaskTooCostlyError } from '../prompts/fair-pool.ts';
import { QueueFullError } from '../queue/admission.ts';
import type { ImageAnswer, ImageData, ImageJob } from './image-job.ts';

/** Milliseconds after which a process without an image is ended. */
const IDLE_MS = 60_000;

const ENTRY = new URL('./image-process-main.js', import.meta.url);

/** Images that wait or are read, and bytes of their files. */
interface Load {
  numImages: number;
  numBytes: number;
}

/** Processes that read images, of all models of a server. They start with the first image. */
export class ImagePool {
  readonly #processes = new FairPool<ImageJob, ImageAnswer>({
    entry: ENTRY,
    workerData: null,
    maxThreads: LIMITS.imageProcesses,
    heapMb: LIMITS.imageProcessMb,
    deadlineMs: LIMITS.imageMs,
    largeCost: LIMITS.imagePixelsInTurn,
    startPool: ({ idleMs = IDLE_MS, heapMb }) =>
      new ProcessPool({ entry: ENTRY, idleMs, maxMb: heapMb }),
  });
  readonly #all: Load = { numImages: 0, numBytes: 0 };
  /** Clients without images are left out. */
  readonly #clients = new Map<string, Load>();

  /**
   * @throws ImageError for what is no image, or too large a one; QueueFullError before anything is done;
   *   TaskError; the signal's reason on abort
   */
  async run(job: ImageJob, caller: Caller): Promise<ImageData> {
    const cost = numPixels(job.file, LIMITS.imagePixels);
    const leave = this.#enter(caller.client, job.file.length);
    try {
      const answer = await this.#processes.run(job, caller, cost);
      if (answer.type === 'done') return answer.data;
      throw new ImageError(answer.message);
    } catch (error) {
      if (error instanceof TaskTooCostlyError) throw new ImageError(`it ${error.message}`);
      throw error;
    } finally {
      leave();
    }
  }

  /** Ends the processes; running and waiting images fail. */
  close(): void {
    this.#processes.close();
  }

  /** Takes a place until the function that it returns is called. @throws QueueFullError */
  #enter(client: string, numBytes: number): () => void {
    const own = this.#clients.get(client) ?? { numImages: 0, numBytes: 0 };
    const isFull =
      this.#all.numImages >= LIMITS.imagesWaiting ||
      this.#all.numBytes + numBytes > LIMITS.imageBytesWaiting ||
      own.numImages >= LIMITS.clientImagesWaiting ||
      own.numBytes + numBytes > LIMITS.clientImageBytesWaiting;
    if (isFull) throw new QueueFullError('requests', 1);
    this.#clients.set(client, own);
    const add = (images: number, bytes: number): void => {
      for (const load of [this.#all, own]) {
        load.numImages += images;
        load.numBytes += bytes;
      }
    };
    add(1, numBytes);
    return () => {
      add(-1, -numBytes);
      if (own.numImages === 0) this.#clients.delete(client);
    };
  }
}
