import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { drained } from '../../drained.ts';
import { LIMITS } from '../../limits.ts';
import {
  type Frame,
  FrameReader,
  greeting,
  GREETING_BYTES,
  pongTo,
  ready,
  requireGreeting,
  requirePeer,
  type SocketKind,
} from './zmtp.ts';

/** As many that carry nothing take some 0.1 ms. */
const FRAMES_PER_TURN = 64;

/** Called with a peer's message; the next one is taken when it is done. @throws Error to close the connection */
export type OnMessage = (message: readonly Buffer[]) => void | Promise<void>;

/** One connection to a socket of ZeroMQ. What is not of the protocol closes it. */
export class ZmtpPeer {
  readonly #socket: Socket;
  readonly #kind: SocketKind;
  readonly #onMessage: OnMessage;
  readonly #reader = new FrameReader();
  readonly #late: NodeJS.Timeout;
  #hasGreeted = false;
  #isReady = false;
  #parts: Buffer[] = [];

  constructor(socket: Socket, kind: SocketKind, onMessage: OnMessage) {
    this.#socket = socket;
    this.#kind = kind;
    this.#onMessage = onMessage;
    // Once it is ready it may be silent for ever: a subscriber is.
    this.#late = setTimeout(() => socket.destroy(), LIMITS.headMs);
    socket.once('close', () => clearTimeout(this.#late));
    socket.on('data', (bytes: Buffer) => void this.#take(bytes));
    socket.write(greeting());
  }

  get isGone(): boolean {
    return this.#socket.destroyed;
  }

  /** Bytes that it has not read yet. */
  get unreadBytes(): number {
    return this.#socket.writableLength;
  }

  /** @param message as `messageOf` makes it. @returns false when the peer does not keep up: see `drained` */
  send(message: Buffer): boolean {
    return this.#socket.write(message);
  }

  /** Resolves when the peer takes more, or is gone. */
  drained(): Promise<void> {
    return drained(this.#socket);
  }

  /** Once it has read what was sent, or after `lingerMs`. */
  close(lingerMs: number): void {
    this.#socket.destroySoon();
    const end = setTimeout(() => this.#socket.destroy(), lingerMs);
    this.#socket.once('close', () => clearTimeout(end));
  }

  /** Never rejects. One piece a turn of the event loop: a peer may send more than is worth reading. */
  async #take(bytes: Buffer): Promise<void> {
    this.#socket.pause();
    try {
      this.#reader.push(bytes);
      await this.#readAll();
      await setImmediate();
      this.#socket.resume();
    } catch {
      // Nothing tells it why: there is no word for it in the protocol.
      this.#socket.destroy();
    }
  }

  async #readAll(): Promise<void> {
    if (!this.#hasGreeted) {
      const theirs = this.#reader.take(GREETING_BYTES);
      if (theirs === null) return;
      requireGreeting(theirs);
      this.#hasGreeted = true;
      this.#socket.write(ready(this.#kind));
    }
    let numTaken = 0;
    for (let frame = this.#reader.next(); frame !== null; frame = this.#reader.next()) {
      if (this.isGone) return;
      await this.#takeFrame(frame);
      if (++numTaken % FRAMES_PER_TURN === 0) await setImmediate();
    }
  }

  async #takeFrame(frame: Frame): Promise<void> {
    if (!this.#isReady) {
      requirePeer(this.#kind, frame);
      this.#isReady = true;
      clearTimeout(this.#late);
    } else if (frame.isCommand) {
      const pong = pongTo(frame.body);
      if (pong && !this.send(pong)) await this.drained();
    } else {
      this.#parts.push(frame.body);
      if (this.#parts.length > LIMITS.eventFrames) throw new Error('a message of too many frames');
      if (frame.hasMore) return;
      const message = this.#parts;
      this.#parts = [];
      await this.#onMessage(message);
    }
  }
}
