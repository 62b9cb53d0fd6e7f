/** An HTTP and WebSocket client over Node's own parts, which may send what `fetch` would not. */
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { Agent as TlsAgent, request as requestTls } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { createParser } from 'eventsource-parser';
import { WebSocket } from 'ws';

export interface ClientOptions {
  readonly url: string;
  readonly key: string | null;
  /** The loopback address that it comes from. */
  readonly localAddress: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  /** Until its last byte. */
  readonly ms: number;
}

export interface SendOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, unless it is text already. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

interface Chunk {
  readonly error?: { readonly message: string };
  /** Choices of a completion, or of a chat. */
  readonly choices?: readonly {
    readonly text?: string;
    readonly delta?: { readonly content?: string };
  }[];
}

/** An attacker waits for no answer longer than this. */
const PATIENCE_MS = 25_000;

export class Client {
  /** How many answers there were of each status; 0 is for none at all. */
  readonly numByStatus = new Map<number, number>();
  readonly #url: URL;
  readonly #key: string | null;
  readonly #localAddress: string;
  readonly #isTls: boolean;
  readonly #agent: Agent;

  constructor({ url, key, localAddress }: ClientOptions) {
    this.#url = new URL(url);
    this.#key = key;
    this.#localAddress = localAddress;
    this.#isTls = this.#url.protocol === 'https:';
    // The certificates of tests are signed by nobody.
    this.#agent = this.#isTls
      ? new TlsAgent({ keepAlive: true, rejectUnauthorized: false })
      : new Agent({ keepAlive: true });
  }

  /** @throws Error when there is no answer. */
  async send(path: string, options: SendOptions = {}): Promise<Answer> {
    const started = performance.now();
    try {
      const response = await this.#open(path, options);
      const answer = await text(response);
      const status = response.statusCode ?? 0;
      this.#count(status);
      return { status, text: answer, headers: response.headers, ms: performance.now() - started };
    } catch (error) {
      if (options.signal?.aborted !== true) this.#count(0);
      throw error;
    }
  }

  /** As `send`, where it does not matter what is answered. */
  async try(path: string, options: SendOptions = {}): Promise<Answer | null> {
    return this.send(path, options).catch(() => null);
  }

  /** Streams a completion or a chat. @param onText called with each piece of its text */
  async stream(
    path: string,
    body: object,
    onText: (piece: string) => void,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const response = await this.#open(path, { headers, body: { ...body, stream: true } });
    this.#count(response.statusCode ?? 0);
    if (response.statusCode !== 200)
      throw new Error(`${response.statusCode} ${await text(response)}`);
    let whole = '';
    let isDone = false;
    const parser = createParser({
      onEvent({ data }) {
        if (data === '[DONE]') return void (isDone = true);
        const { error, choices } = JSON.parse(data) as Chunk;
        if (error !== undefined) throw new Error(error.message);
        const [choice] = choices ?? [];
        const piece = choice?.text ?? choice?.delta?.content ?? '';
        whole += piece;
        if (piece !== '') onText(piece);
      },
    });
    const decoder = new TextDecoder();
    for await (const bytes of response) parser.feed(decoder.decode(bytes, { stream: true }));
    if (!isDone) throw new Error('the stream broke off');
    return whole;
  }

  /** An open WebSocket. */
  async socket(path: string): Promise<WebSocket> {
    const url = new URL(path, this.#url.href.replace('http', 'ws'));
    const socket = new WebSocket(url, {
      headers: this.#headers(),
      localAddress: this.#localAddress,
      perMessageDeflate: false,
      rejectUnauthorized: false,
    });
    await once(socket, 'open');
    socket.on('error', () => {});
    return socket;
  }

  /** A bare connection, its handshake done where the server has TLS. */
  async connect(): Promise<Socket> {
    const socket = await this.connectTo(Number(this.#url.port));
    if (!this.#isTls) return socket;
    const secured = connectTls({ socket, rejectUnauthorized: false }).on('error', () => {});
    await once(secured, 'secureConnect');
    return secured;
  }

  /** A connection of TCP to any of the server's ports; to its first if left out. */
  async connectTo(port: number = Number(this.#url.port)): Promise<Socket> {
    const { hostname } = this.#url;
    const socket = connect({ host: hostname, port, localAddress: this.#localAddress });
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  }

  /** The head of a request, for a bare connection; its last empty line is left out. */
  head(method: string, path: string, headers: Readonly<Record<string, string | number>>): string {
    const all = { host: this.#url.host, ...this.#headers(), ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return `${method} ${path} HTTP/1.1\r\n${lines.join('')}`;
  }

  #open(path: string, { method, headers, body, signal }: SendOptions): Promise<IncomingMessage> {
    const payload = typeof body === 'string' ? body : JSON.stringify(body);
    const deadline = AbortSignal.timeout(PATIENCE_MS);
    const send = this.#isTls ? requestTls : request;
    const sent = send(new URL(path, this.#url), {
      agent: this.#agent,
      localAddress: this.#localAddress,
      method: method ?? (payload === undefined ? 'GET' : 'POST'),
      headers: {
        ...(payload === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
        ...this.#headers(),
        ...headers,
      },
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    return new Promise((resolve, reject) => {
      sent.on('response', resolve).on('error', reject);
      sent.end(payload);
    });
  }

  #headers(): Record<string, string> {
    return this.#key === null ? {} : { authorization: `Bearer ${this.#key}` };
  }

  #count(status: number): void {
    this.numByStatus.set(status, (this.numByStatus.get(status) ?? 0) + 1);
  }
}
