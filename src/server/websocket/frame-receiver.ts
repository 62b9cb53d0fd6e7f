/** Reads the frames of one WebSocket, no faster than they can be handled and answered. */
import type { RawData, WebSocket } from 'ws';
import { guarded } from '../../guarded.ts';
import { LIMITS } from '../../limits.ts';
import { badRequest, type ApiError } from '../errors.ts';
import { JsonText } from '../http/json-text.ts';
import { toApiError } from '../to-api-error.ts';
import type { ServerContext } from '../context.ts';
import type { ArrivedBytes } from './arrived-bytes.ts';
import type { FrameTurns } from './frame-turns.ts';
import type { FrameWriter } from './frame-writer.ts';

const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

/** Bytes that a client's frame of control has beside its payload. */
const CONTROL_HEAD_BYTES = 6;

export interface FrameReceiverOptions {
  readonly socket: WebSocket;
  readonly writer: FrameWriter;
  readonly turns: FrameTurns;
  readonly arrived: ArrivedBytes;
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
  /** Number of its bytes that are in `text`. */
  numScanned: number;
}

/**
 * A socket whose client does not read its answers is not read either. A client that sends nothing
 * but bad frames loses its socket.
 */
export class FrameReceiver {
  readonly #options: FrameReceiverOptions;
  readonly #frames: Frame[] = [];
  /** Bytes that came since the last message: of one that is not complete. */
  #numUnfinished = 0;
  #isQueued = false;
  #numBad = 0;

  constructor(options: FrameReceiverOptions) {
    this.#options = options;
    const { socket, writer, arrived, logger } = options;
    // Frames that are lost are never answered.
    const cut = (error: unknown): void => {
      socket.terminate();
      throw error;
    };
    // Before the socket takes them, and makes messages of them.
    const countRead = ({ length }: Buffer): void => {
      this.#count(length, this.#numUnfinished + length);
    };
    writer.connection.prependListener('data', guarded(countRead, cut));
    const countControl = ({ length }: Buffer): void => {
      const numBytes = Math.min(this.#numUnfinished, CONTROL_HEAD_BYTES + length);
      this.#count(-numBytes, this.#numUnfinished - numBytes);
    };
    socket.on('ping', guarded(countControl, cut)).on('pong', guarded(countControl, cut));
    const take = (data: RawData, isBinary: boolean): void => {
      const bytes = bytesOf(data);
      // The rest of what came with it is less than a read of the connection.
      if (!this.#count(bytes.length - this.#numUnfinished, 0)) return;
      this.#frames.push({ bytes, isBinary, text: new JsonText(), numScanned: 0 });
      this.#handleSoon();
      if (this.#frames.length > 0) socket.pause();
    };
    socket.on('message', guarded(take, cut));
    socket.on('close', () => {
      this.#frames.length = 0;
      arrived.clear();
    });
    // `close` follows; without a listener a broken frame would end the process.
    socket.on('error', (error) => logger.debug({ err: error }, 'websocket error'));
  }

  /** A frame was a request: the count of bad frames starts again. */
  accept(): void {
    this.#numBad = 0;
  }

  /** A frame was no request: sends an error, and closes the socket after too many in a row. */
  reject(error: unknown): void {
    const { logger, tell } = this.#options;
    tell(toApiError(error, logger));
    if (++this.#numBad < LIMITS.badFrames) return;
    this.#end(POLICY_VIOLATION, `${LIMITS.badFrames} bad frames in a row`);
  }

  /** Scans a piece of the frame whose turn it is, and with the last one handles it. */
  handlePiece(): boolean {
    this.#isQueued = false;
    try {
      return this.#handlePiece();
    } catch (error) {
      // The other sockets get their turns.
      this.#options.logger.error({ err: error }, 'a frame could not be handled');
      this.#options.socket.terminate();
      return false;
    }
  }

  #handlePiece(): boolean {
    const [frame] = this.#frames;
    if (frame !== undefined && this.#handle(frame)) {
      this.#frames.shift();
      this.#options.arrived.remove(frame.bytes.length);
    }
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

  /** @returns false when there is no more room for what came: the socket is being closed */
  #count(numMore: number, numUnfinished: number): boolean {
    const { arrived, logger, tell, socket } = this.#options;
    this.#numUnfinished = numUnfinished;
    if (numMore <= 0) {
      arrived.remove(-numMore);
      return true;
    }
    if (socket.readyState !== socket.OPEN) return false;
    try {
      arrived.add(numMore);
      return true;
    } catch (error) {
      const failure = toApiError(error, logger);
      tell(failure);
      this.#end(TRY_AGAIN_LATER, failure.code ?? '');
      return false;
    }
  }

  /** Closes the socket without reading on. */
  #end(code: number, reason: string): void {
    const { socket } = this.#options;
    this.#frames.length = 0;
    socket.close(code, reason);
    socket.pause();
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
