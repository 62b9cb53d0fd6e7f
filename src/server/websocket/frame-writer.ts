/** Writes JSON frames to a WebSocket, as fast as its client reads them. */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { coalesced } from '../../front/engine-process/coalesced.ts';
import { LIMITS } from '../../limits.ts';
import { ownTurn } from '../../own-turn.ts';

export class FrameWriter {
  readonly #socket: WebSocket;
  /** Connection that the socket runs over. */
  readonly connection: Socket;
  /** Has the frames of one turn, such as those of one step, leave together. */
  readonly #sendTogether: () => void;
  #onCaughtUp: (() => void) | null = null;
  /** Bytes of frames that are being made. */
  #numMade = 0;

  constructor(socket: WebSocket, connection: Socket) {
    this.#socket = socket;
    this.connection = connection;
    // Writers wait for what is not sent.
    this.#sendTogether = coalesced(
      () => connection.uncork(),
      (error) => {
        socket.terminate();
        throw error;
      },
    );
  }

  /**
   * From this many waiting bytes on, each request of the socket sends one frame at a time. The
   * tokens of a paused request collect in the front, so that it continues with fewer, larger
   * frames.
   */
  get isBehind(): boolean {
    return this.numUnread >= LIMITS.socketBufferBytes;
  }

  /** Bytes that wait to be read, or are being made. */
  get numUnread(): number {
    return this.#socket.bufferedAmount + this.#numMade;
  }

  /** Calls `onCaughtUp`, in place of any earlier one, once the writer has sent what waits. */
  onceCaughtUp(onCaughtUp: () => void): void {
    this.#onCaughtUp = onCaughtUp;
  }

  /** Returns at once while the socket keeps up, else when this frame has left. */
  write(frame: string | Uint8Array): Promise<void> | undefined {
    if (!this.isBehind) {
      this.post(frame);
      return undefined;
    }
    return new Promise((resolve) => {
      this.post(frame, () => resolve());
    });
  }

  /** As `write`, of what is made piece by piece; others get their turn of the event loop in between. */
  async writePieces(pieces: Iterable<string>): Promise<void> {
    const made: Buffer[] = [];
    try {
      // Before the first piece is made, too: hundreds of answers may be complete at once.
      await ownTurn();
      for (const piece of pieces) {
        if (made.length > 0) await ownTurn();
        if (this.#socket.readyState !== this.#socket.OPEN) return;
        const bytes = Buffer.from(piece);
        made.push(bytes);
        this.#numMade += bytes.length;
      }
    } finally {
      for (const { length } of made) this.#numMade -= length;
    }
    await this.write(Buffer.concat(made));
  }

  /**
   * Sends without waiting; does nothing on a socket that is closed.
   * @param frame JSON text
   * @param onSent called also when the socket closes before the frame has left.
   */
  post(frame: string | Uint8Array, onSent?: () => void): void {
    if (this.#socket.readyState === this.#socket.OPEN) {
      if (this.connection.writableCorked === 0) this.connection.cork();
      this.#sendTogether();
      this.#socket.send(frame, { binary: false }, () => {
        onSent?.();
        this.#checkCaughtUp();
      });
    } else {
      onSent?.();
    }
  }

  #checkCaughtUp(): void {
    if (this.#onCaughtUp === null || this.isBehind) return;
    const onCaughtUp = this.#onCaughtUp;
    this.#onCaughtUp = null;
    onCaughtUp();
  }
}
