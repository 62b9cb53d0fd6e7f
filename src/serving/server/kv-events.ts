import { KvEventPublisher } from '../../front/kv-events/kv-event-publisher.ts';
import type { Options } from '../../settings/options.ts';
import { UsageError } from '../../settings/usage-error.ts';
import { createServer, type Server, type Socket } from 'node:net';
import { cut, guarded } from '../../guarded.ts';
import type { ConnectionPlaces } from '../../server/http/connection-places.ts';
import { socketPathOf } from '../../net/unix-address.ts';
import { openPort } from '../../server/http/listen.ts';

type KvEventFlags = Options<'kvEvents' | 'kvEventsReplay' | 'kvEventsAddress' | 'host' | 'port'>;

/** TCP asks after this much silence whether the peer is still there. */
const TCP_PROBE_MS = 30_000;

export interface KvEvents {
  readonly publisher: KvEventPublisher;
  close(): void;
}

/**
 * Null without `--kv-events`.
 * @throws UsageError when flags do not go together, UserError when a port is taken
 */
export async function openKvEvents(
  options: KvEventFlags,
  places: ConnectionPlaces,
): Promise<KvEvents | null> {
  const { kvEvents: endpoint, kvEventsReplay: replayEndpoint, host, port } = options;
  if (endpoint === undefined) {
    if (replayEndpoint === undefined) return null;
    throw new UsageError('--kv-events-replay needs --kv-events');
  }
  const publisher = new KvEventPublisher(
    options.kvEventsAddress ?? (socketPathOf(host) === null ? `${host}:${port}` : host),
  );
  const open = async (flag: string, at: string, connect: (socket: Socket) => void) => {
    const server = acceptor(places, connect);
    const address = addressOf(at);
    await openPort(server, address.host, address.port, flag);
    return server;
  };
  const servers = [
    await open('--kv-events', endpoint, (socket) => publisher.events.add(socket)),
    ...(replayEndpoint === undefined
      ? []
      : [
          await open('--kv-events-replay', replayEndpoint, (socket) =>
            publisher.replays.add(socket),
          ),
        ]),
  ];
  return {
    publisher,
    close() {
      for (const server of servers) server.close();
      publisher.close();
    },
  };
}

/** Its connections are never at work for anybody: the longest silent ones make room, and come again. */
function acceptor(places: ConnectionPlaces, connect: (socket: Socket) => void): Server {
  const accept = (socket: Socket): void => {
    // Without a listener it would end the process; the close that follows says the same.
    socket.on('error', () => socket.destroy());
    if (typeof places.take(socket, false) === 'string') socket.destroy();
    else connect(socket);
  };
  const tcp = { keepAlive: true, keepAliveInitialDelay: TCP_PROBE_MS, noDelay: true };
  return createServer(tcp, guarded(accept, cut));
}

function addressOf(endpoint: string) {
  // ZeroMQ's word for all addresses of this machine.
  const { hostname, port } = new URL(endpoint.replace('*', '0.0.0.0'));
  return { host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port) };
}
