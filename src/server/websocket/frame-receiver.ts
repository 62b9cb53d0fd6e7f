/** Reads the frames of one WebSocket, no faster than they can be handled and answered. */
import type { RawData, WebSocket } from 'ws';
import { LIMITS } from '../../limits.ts';
import { badRequest, type ApiError } from '../errors.ts';
import { JsonText } from '../http/json-text.ts';
import { toApiError } from '../to-api-error.ts';
import type { ServerContext } from '../context.ts';
import type { FrameTurns } from './frame-turns.ts';
import type { FrameWriter } from './frame-writer.ts';

const POLICY_VIOLATION = 1008;

export interface FrameReceiverOptions {
  readonly socket: WebSocket;
  readonly writer: FrameWriter;
  readonly turns: FrameTurns;
  readonly logger: ServerContext['logger'];
  /** Handles the text of a frame, which was scanned; what it throws is told as of a frame that is no request. */
  readonly handle: (text: string) => void;
  /** Tells the client what is wrong with a frame. */
  readonly tell: (error: ApiError) => void;
}

interface Frame {
  readonly bytes: Buffer;
  readonly isBinary: boolean;
  readonly text: JsonText;
  /** Of its bytes, how many are in `text`. */
  numScanned: number;
}

/**
 * A socket whose client does not read its answers is not read either. A client that sends nothing
 * but bad frames loses its socket.
 */
export class FrameReceiver {
  readonly #options: FrameReceiverOptions;
  readonly #frames: Frame[] = [];
  #isQueued = false;
  #numBad = 0;

  constructor(options: FrameReceiverOptions) {
    this.#options = options;
    const { socket, logger } = options;
    socket.on('message', (data, isBinary) => {
      this.#frames.push({ bytes: bytesOf(data), isBinary, text: new JsonText(), numScanned: 0 });
      this.#handleSoon();
      if (this.#frames.length > 0) socket.pause();
    });
    socket.on('close', () => (this.#frames.length = 0));
    // `close` follows; without a listener a broken frame would end the process.
    socket.on('error', (error) => logger.debug({ err: error }, 'websocket error'));
  }

  /** A frame was a request: the count of bad frames starts again. */
  accept(): void {
    this.#numBad = 0;
  }

  /** A frame was no request: sends an error, and closes the socket after too many in a row. */
  reject(error: unknown): void {
    const { socket, logger, tell } = this.#options;
    tell(toApiError(error, logger));
    if (++this.#numBad < LIMITS.badFrames) return;
    this.#frames.length = 0;
    socket.close(POLICY_VIOLATION, `${LIMITS.badFrames} bad frames in a row`);
    // What it still sends is not read.
    socket.pause();
  }

  /** Scans a piece of the frame whose turn it is, and with the last one handles it. */
  handlePiece(): boolean {
    this.#isQueued = false;
    const [frame] = this.#frames;
    if (frame !== undefined && this.#handle(frame)) this.#frames.shift();
    const { socket } = this.#options;
    if (this.#frames.length === 0) {
      if (socket.isPaused && socket.readyState === socket.OPEN) socket.resume();
      return false;
    }
    if (this.#options.writer.isBehind) {
      this.#handleSoon();
      return false;
    }
    this.#isQueued = true;
    return true;
  }

  #handleSoon(): void {
    const { writer, turns } = this.#options;
    if (this.#isQueued) return;
    this.#isQueued = true;
    if (writer.isBehind) writer.onceCaughtUp(() => turns.add(this));
    else turns.add(this);
  }

  /** @returns whether it is done with */
  #handle(frame: Frame): boolean {
    const { socket, handle } = this.#options;
    // Nothing after a close is handled.
    if (socket.readyState !== socket.OPEN) return true;
    const { bytes, isBinary, text } = frame;
    try {
      if (isBinary) throw badRequest('Frames must be text, not binary.', null, 'invalid_json');
      const piece = bytes.subarray(frame.numScanned, frame.numScanned + LIMITS.bodyTurnBytes);
      frame.numScanned += piece.length;
      text.push(piece);
      if (frame.numScanned < bytes.length) return false;
      handle(text.end());
    } catch (error) {
      this.reject(error);
    }
    return true;
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
