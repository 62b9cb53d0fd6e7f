/** Large answers that are in memory until their clients have read them: tensors that a model gave. */
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { LIMITS } from '../../limits.ts';
import { ApiError, unavailable } from '../errors.ts';

/** Answers of less are not worth counting: as much waits in the buffers of a connection. */
const SMALL_BYTES = 2 ** 18;

/** Bytes that a reader takes at least within `unreadAnswerMs`. */
const READ_BYTES = 2 ** 14;

/** A connection's counts that show how much has been sent. */
export type Sending = Pick<Socket, 'bytesWritten' | 'writableLength'>;

interface Answer {
  readonly client: string;
  readonly numBytes: number;
  readonly stream: Writable;
  readonly connection: Sending;
  /** Bytes that were sent when it was last seen to move, and when. */
  sentBytes: number;
  movedAt: number;
}

export class UnreadAnswers {
  /** The oldest first. */
  readonly #answers = new Set<Answer>();

  /**
   * Counts an answer until its stream is closed. Where a client holds too many, or all do, those that are not
   * being read are cut for it, the oldest first.
   * @param stream that it is about to be written to
   * @throws ApiError 429 or 503 when there is no room still
   */
  hold(client: string, numBytes: number, stream: Writable, connection: Sending): void {
    if (numBytes < SMALL_BYTES || stream.destroyed) return;
    this.#look();
    while (this.#bytes(client) + numBytes > LIMITS.clientUnreadAnswerBytes) {
      if (!this.#cutStalled(client)) break;
    }
    if (this.#bytes(client) + numBytes > LIMITS.unreadAnswerBytes / 2) throw tooManyUnread();
    while (this.#bytes() + numBytes > LIMITS.unreadAnswerBytes) {
      const largest = this.#largestClient();
      if (largest === null || !this.#cutStalled(largest)) {
        throw unavailable('Too many answers wait to be read; try again later.', 1);
      }
    }
    const sentBytes = sentOver(connection);
    const movedAt = performance.now();
    const answer = { client, numBytes, stream, connection, sentBytes, movedAt };
    this.#answers.add(answer);
    stream.once('close', () => this.#answers.delete(answer));
  }

  /** @param client whose; of all if left out */
  #bytes(client?: string): number {
    let sum = 0;
    for (const answer of this.#answers) {
      if (client === undefined || answer.client === client) sum += answer.numBytes;
    }
    return sum;
  }

  #largestClient(): string | null {
    const sums = new Map<string, number>();
    for (const { client, numBytes } of this.#answers) {
      sums.set(client, (sums.get(client) ?? 0) + numBytes);
    }
    const [largest] = [...sums].toSorted(([, a], [, b]) => b - a);
    return largest?.[0] ?? null;
  }

  #look(): void {
    const now = performance.now();
    for (const answer of this.#answers) {
      const sentBytes = sentOver(answer.connection);
      if (sentBytes - answer.sentBytes < READ_BYTES) continue;
      answer.sentBytes = sentBytes;
      answer.movedAt = now;
    }
  }

  /** @returns false if all that the client has are being read */
  #cutStalled(client: string): boolean {
    const now = performance.now();
    for (const answer of this.#answers) {
      if (answer.client !== client || now - answer.movedAt < LIMITS.unreadAnswerMs) continue;
      this.#answers.delete(answer);
      answer.stream.destroy();
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
