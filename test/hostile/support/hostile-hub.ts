/** A model hub that answers whatever it is asked, with names of files that lead out of their folder. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HostileHub {
  readonly endpoint: string;
  stop(): void;
}

/** @param files by the names that the listing has; `..` in an address is resolved by who asks */
export async function startHub(files: Readonly<Record<string, string>>): Promise<HostileHub> {
  const siblings = Object.entries(files).map(([rfilename, { length }]) => ({
    rfilename,
    size: length,
  }));
  const server = createServer(({ url = '' }, response) => {
    response.setHeader('connection', 'close');
    if (url.startsWith('/api/')) {
      response.end(JSON.stringify({ sha: '0123456789abcdef0123456789abcdef01234567', siblings }));
      return;
    }
    const name = Object.keys(files).find(
      (path) => path.split('/').at(-1) === url.split('/').at(-1),
    );
    response.end(files[name ?? ''] ?? '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
