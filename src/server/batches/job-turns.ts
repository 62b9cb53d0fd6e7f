/** Order of lines: clients in turn, and of each client one batch at a time. */

/** Gives a line's place to others while it waits for something that passes, such as its rate. */
export type Pause = (wait: () => Promise<void>) => Promise<void>;

/** Work for a client. */
export interface Job {
  readonly hasMore: boolean;
  /** Comes first. Never throws. */
  open(): Promise<void>;
  /** Ends it because of an error. Never throws. */
  fail(error: unknown): Promise<void>;
  /** Never throws. */
  runNext(pause: Pause): Promise<void>;
  /** Gives up what runs. Nothing can be done with it afterwards: another one goes on. */
  suspend(): Promise<void>;
  /** Fulfilled when nothing of it is left to do. */
  readonly ended: Promise<void>;
}

/** Clients whose batches run at once; those of others wait. */
const MAX_OPEN = 8;

/**
 * Milliseconds that a batch may keep its turn while all its lines wait, if others want one. Longer than a
 * model that can't be loaded is tried again.
 */
const TURN_MS = 20_000;

interface Wish {
  readonly client: string;
  readonly job: Job;
  /** Called when nothing is left to do. */
  readonly onEnd: () => void;
  /** Makes the job that continues a suspended one; null if none does. */
  readonly again: () => Job | null;
}

interface Turn extends Wish {
  readonly since: number;
  /** Lines of it, with those that wait ... */
  numBegun: number;
  /** ... and those alone. */
  numWaiting: number;
  isLeaving: boolean;
}

export class JobTurns {
  readonly #maxInFlight: number;
  readonly #turnMs: number;
  readonly #waiting: Wish[] = [];
  /** The next one to run a line is the first. */
  readonly #open = new Map<string, Turn>();
  /** Lines that run, without those that wait. */
  #numRunning = 0;
  #isClosed = false;
  readonly #timer: NodeJS.Timeout;

  /** @param maxInFlight lines that run at once */
  constructor(maxInFlight: number, turnMs = TURN_MS) {
    this.#maxInFlight = maxInFlight;
    this.#turnMs = turnMs;
    this.#timer = setInterval(() => void this.#rotate(), turnMs / 4).unref();
  }

  add(wish: Wish): void {
    this.#waiting.push(wish);
    this.#openNext();
  }

  /** Suspends a client's jobs, and forgets them. */
  async drop(client: string): Promise<void> {
    for (const wish of this.#waiting.filter((each) => each.client === client)) this.#remove(wish);
    const turn = this.#open.get(client);
    if (turn === undefined) return;
    turn.isLeaving = true;
    await this.#leave(turn);
  }

  /** Starts nothing any more. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  #remove(wish: Wish): void {
    this.#waiting.splice(this.#waiting.indexOf(wish), 1);
  }

  get #next(): Wish | undefined {
    return this.#waiting.find(({ client }) => !this.#open.has(client));
  }

  #openNext(): void {
    if (this.#isClosed || this.#open.size >= MAX_OPEN) return;
    const next = this.#next;
    if (next === undefined) return;
    this.#remove(next);
    const since = performance.now();
    const turn = { ...next, since, numBegun: 0, numWaiting: 0, isLeaving: false };
    this.#open.set(next.client, turn);
    void this.#work(turn);
    this.#openNext();
  }

  async #work(turn: Turn): Promise<void> {
    try {
      await turn.job.open();
      this.#runLines();
      await turn.job.ended;
    } catch (error) {
      await turn.job.fail(error);
    } finally {
      this.#close(turn);
      turn.onEnd();
      this.#openNext();
    }
  }

  #close(turn: Turn): void {
    if (this.#open.get(turn.client) === turn) this.#open.delete(turn.client);
  }

  async #leave(turn: Turn): Promise<void> {
    await turn.job.suspend();
    this.#close(turn);
    this.#openNext();
  }

  /** Puts one whose lines all wait to the end: as many clients as there are turns could keep them for a day. */
  async #rotate(): Promise<void> {
    if (this.#isClosed || this.#open.size < MAX_OPEN || this.#next === undefined) return;
    const before = performance.now() - this.#turnMs;
    const stalled = [...this.#open.values()].find(
      ({ since, numBegun, numWaiting, isLeaving }) =>
        !isLeaving && since <= before && numBegun > 0 && numWaiting === numBegun,
    );
    if (stalled === undefined) return;
    stalled.isLeaving = true;
    await this.#leave(stalled);
    const job = stalled.again();
    const { client, onEnd, again } = stalled;
    if (job !== null) this.add({ client, job, onEnd, again });
  }

  #runLines(): void {
    while (!this.#isClosed && this.#numRunning < this.#maxInFlight) {
      const turn = [...this.#open.values()].find(
        ({ job, numBegun }) => job.hasMore && numBegun < this.#maxInFlight,
      );
      if (turn === undefined) return;
      // To the end of the line.
      this.#open.delete(turn.client);
      this.#open.set(turn.client, turn);
      void this.#runLine(turn);
    }
  }

  async #runLine(turn: Turn): Promise<void> {
    this.#numRunning++;
    turn.numBegun++;
    await turn.job.runNext(async (wait) => {
      this.#numRunning--;
      turn.numWaiting++;
      this.#runLines();
      try {
        await wait();
      } finally {
        turn.numWaiting--;
        this.#numRunning++;
      }
    });
    this.#numRunning--;
    turn.numBegun--;
    this.#runLines();
  }
}
