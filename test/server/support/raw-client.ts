import { createConnection, type Socket } from 'node:net';

/** A connection, and what has come over it. */
export class RawClient {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  text = '';

  constructor({ url }: { readonly url: string }) {
    this.socket = createConnection(Number(new URL(url).port), '127.0.0.1');
    this.closed = new Promise((resolve) => {
      this.socket.once('close', resolve);
    });
    this.socket.on('error', () => {});
    this.socket.on('data', (data: Buffer) => (this.text += data.toString('latin1')));
  }

  get(path: string, headers = ''): void {
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
  }

  post(body: object, headers = ''): void {
    const json = JSON.stringify(body);
    this.socket.write(
      `POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`,
    );
  }

  /** Status of each answer so far. */
  get statuses(): number[] {
    return Array.from(this.text.matchAll(/HTTP\/1\.1 (\d+) /g), ([, status]) => Number(status));
  }
}
