import { numPixels } from '../../images/decode.ts';
import { ImageError } from '../../images/image-error.ts';
import { LIMITS } from '../../limits.ts';
import type { Caller } from '../caller.ts';
import { ProcessPool } from '../../threads/process-pool.ts';
import { FairPool, TaskTooCostlyError } from '../prompts/fair-pool.ts';
import { ClientBudget } from './client-budget.ts';
import type {
  ImageAnswer,
  ImageData,
  ImageJob,
  NumbersJob,
  ReadTiles,
  TilesJob,
} from './image-job.ts';

/** Milliseconds after which a process without an image is ended. */
const IDLE_MS = 60_000;

const ENTRY = new URL('./image-process-main.js', import.meta.url);

/** Processes that read images, of all models of a server. They start with the first image. */
export class ImagePool {
  readonly #processes = new FairPool<ImageJob, ImageAnswer<ImageData | ReadTiles>>({
    entry: ENTRY,
    workerData: null,
    maxThreads: LIMITS.imageProcesses,
    heapMb: LIMITS.imageProcessMb,
    deadlineMs: LIMITS.imageMs,
    largeCost: LIMITS.imagePixelsInTurn,
    startPool: ({ idleMs = IDLE_MS, heapMb }) =>
      new ProcessPool({ entry: ENTRY, idleMs, maxMb: heapMb }),
  });
  /** Images that wait or are read, and bytes of their files. */
  readonly #images = new ClientBudget(LIMITS.imagesWaiting, LIMITS.clientImagesWaiting);
  readonly #bytes = new ClientBudget(LIMITS.imageBytesWaiting, LIMITS.clientImageBytesWaiting);

  /**
   * @throws ImageError for what is no image, or too large a one; QueueFullError before anything is done;
   *   TaskError; the signal's reason on abort
   */
  async numbers(job: NumbersJob, caller: Caller): Promise<ImageData> {
    // A process answers as it is asked.
    return (await this.#run(job, caller)) as ImageData;
  }

  /** @throws as `numbers` */
  async tiles(job: TilesJob, caller: Caller): Promise<ReadTiles> {
    return (await this.#run(job, caller)) as ReadTiles;
  }

  /** Ends the processes; running and waiting images fail. */
  close(): void {
    this.#processes.close();
  }

  async #run(job: ImageJob, caller: Caller): Promise<ImageData | ReadTiles> {
    const cost = numPixels(job.file, LIMITS.imagePixels);
    const { client } = caller;
    const { length } = job.file;
    this.#images.take(client, 1);
    try {
      this.#bytes.take(client, length);
    } catch (error) {
      this.#images.give(client, 1);
      throw error;
    }
    try {
      const answer = await this.#processes.run(job, caller, cost);
      if (answer.type === 'done') return answer.result;
      throw new ImageError(answer.message);
    } catch (error) {
      if (error instanceof TaskTooCostlyError) throw new ImageError(`it ${error.message}`);
      throw error;
    } finally {
      this.#bytes.give(client, length);
      this.#images.give(client, 1);
    }
  }
}
