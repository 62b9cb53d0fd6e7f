/** Writes JSON frames to a WebSocket, as fast as its client takes them. */
import type { WebSocket } from 'ws';

/**
 * Bytes waiting in a socket from which on each of its requests sends one frame at a time. The
 * tokens of a paused request gather in the front, so that it goes on with fewer, larger frames.
 */
const HIGH_WATER_BYTES = 1024 * 1024;

export class FrameWriter {
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Returns at once while the socket keeps up, else when this frame has left. */
  write(frame: object): Promise<void> | undefined {
    if (this.#socket.bufferedAmount < HIGH_WATER_BYTES) {
      this.post(frame);
      return undefined;
    }
    return new Promise((resolve) => {
      this.post(frame, () => resolve());
    });
  }

  /**
   * Sends without waiting; does nothing on a socket that is closed.
   * @param onSent called also when the socket closes before the frame has left.
   */
  post(frame: object, onSent?: () => void): void {
    if (this.#socket.readyState === this.#socket.OPEN) {
      this.#socket.send(JSON.stringify(frame), onSent);
    } else {
      onSent?.();
    }
  }
}
