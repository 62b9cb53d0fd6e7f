/** Many answers over one connection: browsers open only six of HTTP/1.1 to a server. */
import type { RequestRecord, RequestRecorder } from '../../../src/bench/recorder.ts';
import { watchedFetch } from './connection.ts';
import { ROOT } from '../root.ts';
import { openWebSocket } from './web-socket.ts';

interface Frame {
  readonly request_id?: string | null;
  readonly type?: string;
  readonly choices?: readonly { readonly text?: string }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  readonly error?: { readonly message: string };
}

interface Live {
  readonly recorder: RequestRecorder;
  error: string | null;
  readonly end: (record: RequestRecord) => void;
}

export class TokenSocket {
  readonly #socket: WebSocket;
  readonly #live = new Map<string, Live>();
  #nextId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#take(String(data)));
    socket.addEventListener('close', () => this.#failAll('the connection was closed'));
  }

  /** @throws Error when the server does not take it, TypeError when there is no connection */
  static async open(): Promise<TokenSocket> {
    const socket = openWebSocket('/v1/completions');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.addEventListener('open', () => resolve(true));
      socket.addEventListener('close', () => resolve(false));
    });
    if (isOpen) return new TokenSocket(socket);
    // Browsers do not tell a page why a socket failed. If the server is away, this fails too.
    await watchedFetch(`${ROOT}/livez`);
    throw new Error('The server does not take a WebSocket. Is a key needed?');
  }

  /**
   * Follows one answer to its end; a failure is part of the record.
   * @param prefix what the request's id begins with
   */
  stream(body: object, recorder: RequestRecorder, prefix = ''): Promise<RequestRecord> {
    const id = `${prefix}${this.#nextId++}`;
    return new Promise((end) => {
      if (this.#socket.readyState !== WebSocket.OPEN) {
        end(recorder.end('the connection was closed'));
        return;
      }
      this.#live.set(id, { recorder, error: null, end });
      this.#socket.send(JSON.stringify({ ...body, request_id: id }));
    });
  }

  /** Ends what is on its way, here and in the server. */
  close(): void {
    this.#failAll('stopped');
    this.#socket.close();
  }

  #take(text: string): void {
    const frame = JSON.parse(text) as Frame;
    const id = frame.request_id ?? '';
    const live = this.#live.get(id);
    if (live === undefined) return;
    if (frame.error) live.error ??= frame.error.message;
    if (frame.choices?.some((choice) => (choice.text ?? '') !== '')) live.recorder.chunk();
    if (frame.usage) {
      const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = frame.usage;
      live.recorder.usage({ promptTokens, completionTokens });
    }
    if (frame.type !== 'done') return;
    this.#live.delete(id);
    live.end(live.recorder.end(live.error));
  }

  #failAll(reason: string): void {
    for (const { recorder, end } of this.#live.values()) end(recorder.end(reason));
    this.#live.clear();
  }
}
