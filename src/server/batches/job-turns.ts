/** Whose line is next: clients in turn, and of each client one batch at a time. */

/** What there is to do for a client. */
export interface Job {
  readonly hasMore: boolean;
  /** Comes first. Never throws. */
  open(): Promise<void>;
  /** Never throws. */
  runNext(): Promise<void>;
  /** Fulfilled when nothing of it is left to do. */
  readonly ended: Promise<void>;
}

/** Clients whose batches run at once; those of others wait. */
const MAX_OPEN = 8;

interface Waiting {
  readonly client: string;
  readonly job: Job;
  readonly onEnd: () => void;
}

export class JobTurns {
  readonly #maxInFlight: number;
  readonly #waiting: Waiting[] = [];
  /** The next one to run a line is the first. */
  readonly #open = new Map<string, Job>();
  #numRunning = 0;
  #isClosed = false;

  /** @param maxInFlight lines that run at once */
  constructor(maxInFlight: number) {
    this.#maxInFlight = maxInFlight;
  }

  /** @param onEnd is called when nothing is left to do */
  add(client: string, job: Job, onEnd: () => void): void {
    this.#waiting.push({ client, job, onEnd });
    this.#openNext();
  }

  /** Starts nothing any more. */
  close(): void {
    this.#isClosed = true;
  }

  #openNext(): void {
    if (this.#isClosed || this.#open.size >= MAX_OPEN) return;
    const index = this.#waiting.findIndex(({ client }) => !this.#open.has(client));
    const [next] = index === -1 ? [] : this.#waiting.splice(index, 1);
    if (next === undefined) return;
    this.#open.set(next.client, next.job);
    void this.#work(next);
    this.#openNext();
  }

  async #work({ client, job, onEnd }: Waiting): Promise<void> {
    await job.open();
    this.#runLines();
    await job.ended;
    this.#open.delete(client);
    onEnd();
    this.#openNext();
  }

  #runLines(): void {
    while (!this.#isClosed && this.#numRunning < this.#maxInFlight) {
      const found = [...this.#open].find(([, job]) => job.hasMore);
      if (found === undefined) return;
      const [client, job] = found;
      // To the end of the line.
      this.#open.delete(client);
      this.#open.set(client, job);
      this.#numRunning++;
      void job.runNext().then(() => {
        this.#numRunning--;
        this.#runLines();
      });
    }
  }
}
