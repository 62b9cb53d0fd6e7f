/** Answers that are in memory until their clients have read them, whatever door they leave by. */
import type { Socket } from 'node:net';
import { LIMITS } from '../../limits.ts';
import { ApiError, unavailable } from '../errors.ts';

/** Answers of less are not worth counting: as much waits in the buffers of a connection. */
const SMALL_BYTES = 2 ** 18;

/** Bytes that a reader takes at least within `unreadAnswerMs`. */
const READ_BYTES = 2 ** 14;

/** Counts that show how much has been sent. */
export type Sending = Pick<Socket, 'bytesWritten' | 'writableLength'>;

export interface UnreadAnswer {
  /** All of it where that is in memory, or what waits at the moment. */
  readonly numBytes: number;
  readonly connection: Sending;
  /** Ends it, and says why where its protocol has a place for that. */
  cut(): void;
}

/** Receives each answer that was cut: its client, and how many bytes it held. */
export type OnCut = (client: string, numBytes: number) => void;

interface Held {
  readonly client: string;
  readonly answer: UnreadAnswer;
  /** Bytes that were sent when it was last seen to move, and when. */
  sentBytes: number;
  movedAt: number;
}

/**
 * Bounds what answers hold, of each client and of all. Beyond it those that are not being read are cut, the
 * oldest first: at once for an answer that is about to be held, and within `unreadAnswerMs` for those that
 * grow.
 */
export class UnreadAnswers {
  /** The oldest first. */
  readonly #held = new Set<Held>();
  readonly #onCut: OnCut;
  #looks: NodeJS.Timeout | undefined;

  constructor(onCut: OnCut = () => {}) {
    this.#onCut = onCut;
  }

  /** Unread bytes of all answers. */
  get numBytes(): number {
    return this.#bytes();
  }

  /**
   * Counts an answer until the function that it returns is called.
   * @throws ApiError 429 or 503 when there is no room for what it holds already
   */
  hold(client: string, answer: UnreadAnswer): () => void {
    this.makeRoom(client, answer.numBytes);
    const sentBytes = sentOver(answer.connection);
    const held = { client, answer, sentBytes, movedAt: performance.now() };
    this.#held.add(held);
    this.#looks ??= setInterval(() => this.#cutBeyond(), LIMITS.unreadAnswerMs).unref();
    return () => {
      this.#held.delete(held);
      if (this.#held.size > 0) return;
      clearInterval(this.#looks);
      this.#looks = undefined;
    };
  }

  /**
   * Makes room for bytes that an answer is about to hold: cuts others that are not being read.
   * @throws ApiError 429 or 503 when there is none still
   */
  makeRoom(client: string, numBytes: number): void {
    if (numBytes < SMALL_BYTES) return;
    this.#look();
    while (this.#bytes(client) + numBytes > LIMITS.clientUnreadAnswerBytes) {
      if (!this.#cutStalled(client)) break;
    }
    if (this.#bytes(client) + numBytes > LIMITS.unreadAnswerBytes / 2) throw tooManyUnread();
    if (!this.#isWithin(LIMITS.unreadAnswerBytes - numBytes)) {
      throw unavailable('Too many answers wait to be read; try again later.', 1);
    }
  }

  /** @param client whose answers are counted; all if left out */
  #bytes(client?: string): number {
    let sum = 0;
    for (const held of this.#held) {
      if (client === undefined || held.client === client) sum += held.answer.numBytes;
    }
    return sum;
  }

  #byClient(): [client: string, numBytes: number][] {
    const sums = new Map<string, number>();
    for (const { client, answer } of this.#held) {
      sums.set(client, (sums.get(client) ?? 0) + answer.numBytes);
    }
    return [...sums].toSorted(([, a], [, b]) => b - a);
  }

  /** For answers that have grown. */
  #cutBeyond(): void {
    this.#look();
    for (const [client, numBytes] of this.#byClient()) {
      // The largest come first.
      if (numBytes <= LIMITS.clientUnreadAnswerBytes) break;
      while (this.#bytes(client) > LIMITS.clientUnreadAnswerBytes) {
        if (!this.#cutStalled(client)) break;
      }
    }
    this.#isWithin(LIMITS.unreadAnswerBytes);
  }

  /**
   * Cuts answers of the client with the most until all together hold no more.
   * @returns false if all of that client's are being read
   */
  #isWithin(numBytes: number): boolean {
    while (this.#bytes() > numBytes) {
      const [largest] = this.#byClient();
      if (largest === undefined || !this.#cutStalled(largest[0])) return false;
    }
    return true;
  }

  #look(): void {
    const now = performance.now();
    for (const held of this.#held) {
      const { connection } = held.answer;
      const sentBytes = sentOver(connection);
      // Where nothing waits, the client reads all there is.
      if (connection.writableLength > 0 && sentBytes - held.sentBytes < READ_BYTES) continue;
      held.sentBytes = sentBytes;
      held.movedAt = now;
    }
  }

  /** @returns false if all that the client has are being read */
  #cutStalled(client: string): boolean {
    const now = performance.now();
    for (const held of this.#held) {
      if (held.client !== client || now - held.movedAt < LIMITS.unreadAnswerMs) continue;
      this.#held.delete(held);
      this.#onCut(client, held.answer.numBytes);
      held.answer.cut();
      return true;
    }
    return false;
  }
}

function sentOver({ bytesWritten, writableLength }: Sending): number {
  return bytesWritten - writableLength;
}

/** Over a client's share of the memory for answers. */
function tooManyUnread(): ApiError {
  const message = 'Too many of your answers wait to be read; read them, or ask for fewer at once.';
  return new ApiError(429, 'rate_limit_error', message, {
    code: 'too_many_unread',
    headers: { 'retry-after': '1' },
  });
}
