/** A proxy that notes what goes through it. */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Exchange {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  /** Body that was sent, as far as it had arrived when the answer began. */
  readonly body: string;
  readonly status: number;
  readonly contentType: string;
  /** The server's name for the request. */
  readonly requestId: string;
}

export interface RecordingProxy {
  readonly url: string;
  readonly exchanges: readonly Exchange[];
}

/** Passes everything on to `target`, until the end of the test. */
export async function record(target: string): Promise<RecordingProxy> {
  const exchanges: Exchange[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method = '', url = '/', headers } = incoming;
    const { hostname, port, host } = new URL(target);
    const onward = { hostname, port, path: url, method, headers: { ...headers, host } };
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    const passed = request(onward, (answer) => {
      const { statusCode: status = 0, headers: fields } = answer;
      const [path = ''] = url.split('?');
      exchanges.push({
        method,
        path,
        body: Buffer.concat(chunks).toString(),
        status,
        contentType: fields['content-type'] ?? '',
        requestId: String(fields['x-request-id']),
      });
      outgoing.writeHead(status, fields);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  await listen(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, exchanges };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}
