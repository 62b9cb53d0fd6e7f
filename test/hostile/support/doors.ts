/**
 * The doors of a server: each place in `src` that opens a socket for others to connect to, and the port by
 * which it is attacked. A test holds this list and the sources together.
 */

/** Ports of the servers that are attacked, beside the first one: below those that systems give to clients. */
export const PORTS = { grpc: 24_874, metrics: 24_875, events: 24_876, replay: 24_877 } as const;

/** The first one has WebSockets too, which are attacked in ways of their own. */
export type Port = keyof typeof PORTS | 'first' | 'webSocket';

interface Door {
  /** Path in `src`. */
  readonly file: string;
  /** Calls that open it, as often as they are written there. */
  readonly opens: readonly string[];
  /** Ports that are attacked, each in every way; or why none is. */
  readonly ports: readonly Port[] | string;
}

export const DOORS: readonly Door[] = [
  {
    file: 'server/http/listen.ts',
    opens: ['createTlsServer(', 'createServer(', 'openPort(', 'startListening('],
    ports: ['first', 'metrics'],
  },
  {
    file: 'serving/server/open-ports.ts',
    opens: ['listen(', 'listen(', 'listenGrpc('],
    ports: ['first', 'grpc', 'metrics'],
  },
  {
    file: 'grpc/listen.ts',
    opens: ['createSecureServer(', 'createHttp2Server(', 'createServer(', 'openPort('],
    ports: ['grpc'],
  },
  {
    file: 'server/http/unix-socket.ts',
    opens: ['startListening('],
    ports: 'the first one by another address: test/hostile/unix-socket.test.ts attacks it',
  },
  {
    file: 'server/http/start-listening.ts',
    opens: ['.listen('],
    ports: 'none by itself: those who call it are doors',
  },
  { file: 'server/web-socket-hub.ts', opens: ['WebSocketServer('], ports: ['webSocket'] },
  {
    file: 'serving/server/kv-events.ts',
    opens: ['openPort(', 'createServer('],
    ports: ['events', 'replay'],
  },
  {
    file: 'cli/doctor/place-checks.ts',
    opens: ['createServer(', '.listen('],
    ports: 'closed at once: it asks whether the port is free',
  },
];

/** All that are attacked. */
export const ATTACKED_PORTS: readonly Port[] = [
  ...new Set(DOORS.flatMap(({ ports }) => (typeof ports === 'string' ? [] : ports))),
];
