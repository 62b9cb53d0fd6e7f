/** A WebSocket client that collects frames. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { z } from 'zod';

const frame = z.looseObject({
  request_id: z.string().nullable(),
  type: z.string().optional(),
  error: z.looseObject({ message: z.string(), code: z.string().nullable() }).optional(),
});

export type Frame = z.infer<typeof frame>;

export class TestSocket {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  /** The close code, once closed. */
  readonly closed: Promise<number>;
  #wake = (): void => {};

  constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.on('close', resolve);
    });
    socket.on('message', (data: Buffer) => {
      this.frames.push(frame.parse(JSON.parse(data.toString('utf8'))));
      this.#wake();
    });
  }

  send(body: object | string): void {
    this.socket.send(typeof body === 'string' ? body : JSON.stringify(body));
  }

  /** The frames so far, once one of them is as wanted. */
  async until(isWanted: (frame: Frame) => boolean): Promise<Frame[]> {
    while (!this.frames.some(isWanted)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.frames;
  }

  /** All frames of one request, up to its last. */
  async answer(requestId: string): Promise<Frame[]> {
    await this.until((item) => item.request_id === requestId && item.type === 'done');
    return this.frames.filter((item) => item.request_id === requestId);
  }
}

export async function connect(
  { url }: { readonly url: string },
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, { headers });
  const client = new TestSocket(socket);
  await once(socket, 'open');
  return client;
}

/** The HTTP answer to an upgrade that must be refused. */
export async function refusal(
  { url }: { readonly url: string },
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, { headers });
  return new Promise((resolve, reject) => {
    socket.on('open', () => reject(new Error('the upgrade was not refused')));
    socket.on('unexpected-response', (_request, response) => {
      let body = '';
      response.on('data', (data: Buffer) => (body += data.toString('utf8')));
      response.on('end', () => {
        const init = {
          status: response.statusCode ?? 0,
          headers: { 'content-type': response.headers['content-type'] ?? '' },
        };
        resolve(new Response(body, init));
      });
    });
  });
}
