/** The messages that a client sends in a call: bounded while they arrive, and unpacked in order. */
import type { ServerHttp2Stream } from 'node:http2';
import { gunzip, inflate } from 'node:zlib';
import { guarded } from '../guarded.ts';
import { ApiError, badRequest, bodyTooLarge } from '../server/errors.ts';
import { type Message, MessageReader, PREFIX_BYTES } from './message-reader.ts';

/** Limits of arriving messages, and the account that is charged for them. */
export interface ArrivalLimits {
  /** Size of a message, compressed or not. */
  readonly maxBytes: number;
  /** Milliseconds that a message may take to arrive. */
  readonly receiveMs: number;
  /** Whether the first one is due from the beginning of the call. */
  readonly isDue: boolean;
  /** @throws ApiError 429 or 503 when too much is held already */
  charge(numBytes: number): void;
  release(numBytes: number): void;
}

export interface Receiver {
  message(bytes: Buffer): void;
  /** The client sends no more. */
  end(): void;
  /** Nothing further is taken. */
  fail(error: unknown): void;
}

const UNPACK = { gzip: gunzip, deflate: inflate } as const;

/** Encodings as reported to clients. */
export const ACCEPTED_ENCODINGS = ['identity', ...Object.keys(UNPACK)].join(',');

export class IncomingMessages {
  readonly #stream: ServerHttp2Stream;
  readonly #encoding: string;
  readonly #limits: ArrivalLimits;
  readonly #receiver: Receiver;
  readonly #reader: MessageReader;
  /** Complete messages that wait for their turn. */
  readonly #waiting: Message[] = [];
  /** Bytes that are charged. */
  #numHeld = 0;
  #isPaused = false;
  #isUnpacking = false;
  #hasAll = false;
  #isDone = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param encoding of packed messages, as the call's head says */
  constructor(
    stream: ServerHttp2Stream,
    encoding: string,
    limits: ArrivalLimits,
    receiver: Receiver,
  ) {
    this.#stream = stream;
    this.#encoding = encoding;
    this.#limits = limits;
    this.#receiver = receiver;
    this.#reader = new MessageReader(limits.maxBytes);
    // Clients that stream may be silent between messages.
    if (limits.isDue) this.#expect();
    const fail = (error: unknown): void => {
      // Covers also errors that the receiver itself throws at the end.
      this.stop();
      receiver.fail(error);
    };
    stream.on(
      'data',
      guarded((data: Buffer) => this.#take(data), fail),
    );
    const end = (): void => {
      this.#hasAll = true;
      if (this.#reader.isWithin) this.#fail(badRequest('The message was cut short.'));
      else this.#deliver();
    };
    stream.once('end', guarded(end, fail));
    stream.once('close', () => this.stop());
    stream.resume();
  }

  /** No further message is delivered, or read. */
  pause(): void {
    this.#isPaused = true;
    this.#stream.pause();
  }

  resume(): void {
    if (!this.#isPaused || this.#isDone) return;
    this.#isPaused = false;
    this.#deliver();
    if (!this.#isPaused) this.#stream.resume();
  }

  /** Gives back what was charged; what still comes is dropped. */
  stop(): void {
    this.#isDone = true;
    this.#expectNothing();
    this.#limits.release(this.#numHeld);
    this.#numHeld = 0;
    this.#waiting.length = 0;
  }

  #take(data: Buffer): void {
    if (this.#isDone) return;
    try {
      this.#limits.charge(data.length);
      this.#numHeld += data.length;
      const messages = this.#reader.push(data);
      if (messages.length > 0) this.#expectNothing();
      if (this.#reader.isWithin && this.#timer === undefined) this.#expect();
      this.#waiting.push(...messages);
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#deliver();
  }

  #expectNothing(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #expect(): void {
    const tooLate = new ApiError(504, 'timeout_error', 'The message took too long to arrive.');
    this.#timer = setTimeout(() => this.#fail(tooLate), this.#limits.receiveMs);
  }

  #deliver(): void {
    while (!this.#isPaused && !this.#isUnpacking && !this.#isDone) {
      const message = this.#waiting.shift();
      if (message === undefined) break;
      if (message.isCompressed) this.#unpack(message.bytes);
      else this.#hand(message.bytes, message.bytes.length);
    }
    if (this.#hasAll && this.#waiting.length === 0 && !this.#isUnpacking && !this.#isDone) {
      this.stop();
      this.#receiver.end();
    }
  }

  /** @param numSent bytes that it had on its way */
  #hand(bytes: Buffer, numSent: number): void {
    this.#receiver.message(bytes);
    // The receiver may have ended the call, which gives all back.
    if (this.#isDone) return;
    const numCharged = PREFIX_BYTES + numSent;
    this.#limits.release(numCharged);
    this.#numHeld -= numCharged;
  }

  #unpack(bytes: Buffer): void {
    const unpack = UNPACK[this.#encoding as keyof typeof UNPACK];
    if (unpack === undefined) {
      this.#fail(
        new ApiError(
          501,
          'invalid_request_error',
          'The message is packed in a way that is not known here.',
        ),
      );
      return;
    }
    this.#isUnpacking = true;
    const { maxBytes } = this.#limits;
    const take = (error: Error | null, unpacked: Buffer): void => {
      this.#isUnpacking = false;
      if (this.#isDone) return;
      if (error !== null) {
        const isTooLong = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
        this.#fail(
          isTooLong ? bodyTooLarge(maxBytes) : badRequest("The message can't be unpacked."),
        );
        return;
      }
      this.#hand(unpacked, bytes.length);
      this.#deliver();
    };
    unpack(
      bytes,
      { maxOutputLength: maxBytes },
      guarded(take, (error) => this.#fail(error)),
    );
  }

  #fail(error: unknown): void {
    if (this.#isDone) return;
    this.stop();
    this.#receiver.fail(error);
  }
}
