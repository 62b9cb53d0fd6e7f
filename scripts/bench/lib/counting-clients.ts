/**
 * Streams whose events are counted and not looked at, by clients that take as little of the machine
 * as can be had: sockets are read into one buffer.
 */
import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';

export interface CountedStreams {
  /** Events, frames or answers that came. */
  readonly numEvents: number;
  /** From the first to the last of them, in milliseconds. */
  readonly ms: number;
}

export interface CountingClient {
  readonly name: string;
  /** Runs so many streams at once to their ends. */
  run(numStreams: number, maxTokens: number): Promise<CountedStreams>;
  close(): void;
}

const BUFFER_BYTES = 2 ** 16;
const BLANK_LINE = Buffer.from('\n\n');
/** Ends of answers over HTTP: streamed ones, and those in one piece, of which usage is the end. */
const ENDS = { streamed: '\r\n0\r\n\r\n', whole: '}}}' };
/** No more than the server allows. */
const STREAMS_PER_SOCKET = 64;

const body = (index: number, maxTokens: number, stream: boolean) => ({
  messages: [
    { role: 'user', content: `Tell me a story of ${index} small dogs that went to town.` },
  ],
  max_tokens: maxTokens,
  temperature: 0,
  ignore_eos: true,
  stream,
});

/** Notes when the first and the last event of all streams come. */
class Counter {
  numEvents = 0;
  #firstAt = 0;
  #lastAt = 0;

  add(numEvents: number): void {
    if (numEvents === 0) return;
    this.#lastAt = performance.now();
    if (this.numEvents === 0) this.#firstAt = this.#lastAt;
    this.numEvents += numEvents;
  }

  result(startedAt?: number): CountedStreams {
    return { numEvents: this.numEvents, ms: this.#lastAt - (startedAt ?? this.#firstAt) };
  }
}

/** A connection for one request. */
class HttpConnection {
  readonly #socket: Socket;
  readonly #path: URL;
  readonly #end: string;
  #counter = new Counter();
  #done: (() => void) | undefined;
  #failed: ((error: Error) => void) | undefined;
  #endsInNewline = false;
  /** The last bytes, in which an answer's end is looked for. */
  #tail = '';

  constructor(path: URL, end: string) {
    this.#path = path;
    this.#end = end;
    const onread = {
      buffer: new Uint8Array(BUFFER_BYTES),
      callback: (length: number, buffer: Uint8Array) =>
        this.#read(Buffer.from(buffer.buffer, 0, length)),
    };
    this.#socket = connect({ host: path.hostname, port: Number(path.port), onread });
    this.#socket.on('error', (error) => this.#failed?.(error));
    this.#socket.on('close', () => this.#failed?.(new Error('the connection closed')));
  }

  async post(json: string, counter: Counter): Promise<void> {
    this.#counter = counter;
    const { host, pathname } = this.#path;
    const head = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n`;
    await new Promise<void>((resolve, reject) => {
      [this.#done, this.#failed] = [resolve, reject];
      this.#socket.write(`${head}content-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`);
    });
  }

  close(): void {
    this.#failed = undefined;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): boolean {
    let numEvents = this.#endsInNewline && chunk[0] === 10 ? 1 : 0;
    for (let at = chunk.indexOf(BLANK_LINE); at !== -1; at = chunk.indexOf(BLANK_LINE, at + 2)) {
      numEvents++;
    }
    this.#endsInNewline = chunk.at(-1) === 10 && chunk.at(-2) !== 10;
    this.#counter.add(numEvents);
    this.#tail = (this.#tail + chunk.toString('latin1', Math.max(0, chunk.length - 64))).slice(-64);
    if (!this.#tail.endsWith(this.#end)) return true;
    this.#tail = '';
    this.#done?.();
    return true;
  }
}

/** @param isStreamed whole answers otherwise */
export function httpClient(url: string, isStreamed: boolean): CountingClient {
  const path = new URL('/v1/chat/completions', url);
  const end = isStreamed ? ENDS.streamed : ENDS.whole;
  return {
    name: isStreamed ? 'SSE' : 'not streamed',
    async run(numStreams, maxTokens) {
      const counter = new Counter();
      const startedAt = performance.now();
      const answers = Array.from({ length: numStreams }, async (_, index) => {
        const connection = new HttpConnection(path, end);
        await connection.post(JSON.stringify(body(index, maxTokens, isStreamed)), counter);
        if (!isStreamed) counter.add(1);
        // Until the next run the server might have closed it.
        connection.close();
      });
      await Promise.all(answers);
      return counter.result(isStreamed ? undefined : startedAt);
    },
    close() {},
  };
}

/** All streams on as few sockets as the server's limit of requests on one allows. */
export async function webSocketClient(url: string, numStreams: number): Promise<CountingClient> {
  const count = Math.ceil(numStreams / STREAMS_PER_SOCKET);
  const sockets = await Promise.all(Array.from({ length: count }, () => open(url)));
  return {
    name: 'WebSocket',
    async run(streams, maxTokens) {
      const counter = new Counter();
      let numLeft = streams;
      await new Promise<void>((resolve, reject) => {
        for (const socket of sockets) {
          socket.removeAllListeners();
          socket.on('error', reject).on('close', () => reject(new Error('the socket closed')));
          socket.on('message', (data: Buffer) => {
            const isDone = data.length < 64 && data.includes('"done"');
            if (!isDone) counter.add(1);
            else if (--numLeft === 0) resolve();
          });
        }
        for (let index = 0; index < streams; index++) {
          const frame = { request_id: String(index), ...body(index, maxTokens, true) };
          sockets[index % count]?.send(JSON.stringify(frame));
        }
      });
      return counter.result();
    },
    close() {
      for (const socket of sockets) socket.removeAllListeners().terminate();
    },
  };
}

async function open(url: string): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/chat/completions`);
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return socket;
}
