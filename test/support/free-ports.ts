import { once } from 'node:events';
import { createServer } from 'node:net';

/** For processes that must be told theirs. All at once, so that they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('there is no port');
    return address.port;
  });
  for (const server of servers) {
    server.close();
    await once(server, 'close');
  }
  return ports;
}
