/** A call over a stream of HTTP/2: its head, its answer, and the status that it ends with. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import {
  type ArrivalLimits,
  ACCEPTED_ENCODINGS,
  IncomingMessages,
  type Receiver,
} from './incoming-messages.ts';
import { guarded } from '../guarded.ts';
import { PREFIX_BYTES } from './message-reader.ts';
import type { UnreadAnswers } from '../server/http/unread-answers.ts';
import { told } from '../told.ts';
import type { CallStatus } from './status.ts';

/** Messages of at most this many bytes are one write together with their prefix. */
const SMALL_MESSAGE = 16_384;

/** Characters of an error text: clients refuse trailers of more than 8 KiB. */
const DETAIL_CHARACTERS = 1024;

const CONTENT_TYPE = 'application/grpc';

const MS_OF_UNIT: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

export class CallStream {
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
  readonly #stream: ServerHttp2Stream;
  readonly #gone = new AbortController();
  #messages: IncomingMessages | null = null;
  #hasEnded = false;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    this.#stream = stream;
    this.headers = headers;
    this.remoteAddress = stream.session?.socket.remoteAddress ?? '';
    stream.once('close', () => {
      if (this.#hasEnded) return;
      this.#hasEnded = true;
      this.#gone.abort(new Error('the client is gone'));
    });
  }

  /** Aborts when the client leaves before the call has ended. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Milliseconds that the client waits for the end of the call (`grpc-timeout`); null is no limit. */
  get timeoutMs(): number | null {
    const [, value, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(this.#head('grpc-timeout')) ?? [];
    return value === undefined ? null : Number(value) * (MS_OF_UNIT[unit] ?? 1);
  }

  /** Takes what the client sends; to be called once. */
  receive(limits: ArrivalLimits, receiver: Receiver): void {
    this.#messages = new IncomingMessages(
      this.#stream,
      this.#head('grpc-encoding'),
      limits,
      receiver,
    );
  }

  /** Takes no further message for now. */
  pause(): void {
    this.#messages?.pause();
  }

  resume(): void {
    this.#messages?.resume();
  }

  /** Counts what waits to be read until the call is closed. */
  hold(unread: UnreadAnswers, client: string): void {
    const stream = this.#stream;
    const connection = stream.session?.socket;
    if (connection === undefined || stream.destroyed) return;
    const release = unread.hold(client, {
      get numBytes() {
        return stream.writableLength;
      },
      connection: {
        get bytesWritten() {
          return connection.bytesWritten;
        },
        // A stream whose client opens no window leaves nothing in the connection.
        get writableLength() {
          return stream.writableLength;
        },
      },
      // Clients make RESOURCE_EXHAUSTED of it. A status would wait behind what is not read.
      cut: () => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM),
    });
    stream.once('close', release);
  }

  /** @returns false when the client does not keep up: see `drained` */
  write(message: Uint8Array): boolean {
    if (this.#hasEnded) return true;
    this.#begin();
    const prefix = Buffer.alloc(PREFIX_BYTES);
    prefix.writeUInt32BE(message.length, 1);
    if (message.length <= SMALL_MESSAGE)
      return this.#stream.write(Buffer.concat([prefix, message]));
    this.#stream.write(prefix);
    return this.#stream.write(message);
  }

  /** Resolves when the client has taken what was written, or `signal` aborts. */
  drained(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#hasEnded) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = (): void => {
        this.#stream.off('drain', settle).off('close', settle);
        signal.removeEventListener('abort', settle);
        resolve();
      };
      this.#stream.on('drain', settle).on('close', settle);
      signal.addEventListener('abort', settle, { once: true });
    });
  }

  /** Ends the call; of no effect if it has ended. What its client still sends is not read. */
  end(callStatus: CallStatus): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#messages?.stop();
    const stream = this.#stream;
    const trailers = trailersOf(callStatus);
    if (stream.headersSent) {
      const finish = (): void => {
        stream.sendTrailers(trailers);
        this.#refuseRest();
      };
      stream.once(
        'wantTrailers',
        guarded(finish, (error) => closeWith(stream, error)),
      );
      stream.end();
    } else {
      stream.respond(
        { ':status': 200, 'content-type': CONTENT_TYPE, ...trailers },
        { endStream: true },
      );
      this.#refuseRest();
    }
  }

  #begin(): void {
    if (this.#stream.headersSent) return;
    this.#stream.respond(
      {
        ':status': 200,
        'content-type': CONTENT_TYPE,
        'grpc-accept-encoding': ACCEPTED_ENCODINGS,
      },
      { waitForTrailers: true },
    );
  }

  #refuseRest(): void {
    const stream = this.#stream;
    if (stream.readableEnded) return;
    // Unread data would hold back the other streams of the connection.
    stream.resume();
    setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
  }

  #head(name: string): string {
    const value = this.headers[name];
    return typeof value === 'string' ? value : '';
  }
}

/** Ends a call that went wrong here, without a status. @throws the error again */
export function closeWith(stream: ServerHttp2Stream, error: unknown): never {
  stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  throw error;
}

function trailersOf({ code, details, metadata }: CallStatus): Record<string, string> {
  const text = told(details, DETAIL_CHARACTERS);
  return {
    'grpc-status': String(code),
    ...(text === '' ? {} : { 'grpc-message': encodeURI(text) }),
    ...metadata,
  };
}
