/**
 * Takes the bytes of a call apart into messages. Each has five bytes before it: whether it is compressed,
 * and its length (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Length-Prefixed-Message").
 */
import { badRequest, bodyTooLarge } from '../server/errors.ts';

export interface Message {
  readonly bytes: Buffer;
  readonly isCompressed: boolean;
}

/** Size of a message's prefix: whether it is compressed, and its length. */
export const PREFIX_BYTES = 5;

/** Bytes that a message begins with: a length alone, which is a client's word, takes no memory. */
const FIRST_BYTES = 65_536;

export class MessageReader {
  readonly #maxBytes: number;
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #numPrefix = 0;
  /** Room for the message, or for its beginning; what came is copied, since a piece may be part of a large buffer. */
  #bytes = Buffer.alloc(0);
  #numBytes = 0;
  #length = 0;

  /** @param maxBytes of a message, as it is sent */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether a message has begun and is not complete. */
  get isWithin(): boolean {
    return this.#numPrefix > 0;
  }

  /**
   * @returns the messages that are complete now
   * @throws ApiError 413 for one that is too long, as soon as its length is known; 400 for another flag
   */
  push(data: Buffer): Message[] {
    const messages: Message[] = [];
    let at = 0;
    while (at < data.length) {
      at += this.#numPrefix < PREFIX_BYTES ? this.#takePrefix(data, at) : this.#take(data, at);
      if (this.#numPrefix < PREFIX_BYTES || this.#numBytes < this.#length) continue;
      messages.push({ bytes: this.#bytes, isCompressed: this.#prefix[0] === 1 });
      this.#numPrefix = 0;
    }
    return messages;
  }

  #takePrefix(data: Buffer, at: number): number {
    const taken = data.copy(this.#prefix, this.#numPrefix, at);
    this.#numPrefix += taken;
    if (this.#numPrefix < PREFIX_BYTES) return taken;
    if ((this.#prefix[0] ?? 0) > 1) throw badRequest('A message has no valid prefix.');
    this.#length = this.#prefix.readUInt32BE(1);
    if (this.#length > this.#maxBytes) throw bodyTooLarge(this.#maxBytes);
    this.#numBytes = 0;
    this.#bytes = Buffer.allocUnsafeSlow(Math.min(this.#length, FIRST_BYTES));
    return taken;
  }

  #take(data: Buffer, at: number): number {
    const taken = Math.min(data.length - at, this.#length - this.#numBytes);
    const needed = this.#numBytes + taken;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(this.#length, 2 * needed));
      this.#bytes.copy(grown, 0, 0, this.#numBytes);
      this.#bytes = grown;
    }
    data.copy(this.#bytes, this.#numBytes, at, at + taken);
    this.#numBytes = needed;
    return taken;
  }
}
