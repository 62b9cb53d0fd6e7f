/** Bounds on connections, and on what comes over them before it is a request: part of LIMITS. */
export const CONNECTION_LIMITS = {
  /** Connections at once; if all are taken, the longest idle one of the address with the most is closed (--max-connections). */
  connections: 1024,
  /** More of them if all of these are at work: for a request each, of a probe or with the admin key. */
  reservedConnections: 16,
  /** Milliseconds until such a request must have come. */
  reservedMs: 2000,
  /** Requests that may wait on a connection for the one being answered (HTTP pipelining). */
  pipelinedRequests: 16,
  /** Header fields of a request; Node leaves out further ones. */
  headerFields: 128,
  /** Characters of a request's path ... */
  requestPathCharacters: 2048,
  /** ... and its segments: names of models hold slashes. */
  requestPathSegments: 32,
  /** Milliseconds that the head of a request may take to arrive; also a connection's first. */
  headMs: 30_000,
  /** Milliseconds that a whole request may take to arrive (--receive-timeout). */
  receiveMs: 120_000,
  /** Bytes of a body that nobody reads, such as a refused one's, for which its connection is kept ... */
  unreadBytes: 256 * 2 ** 10,
  /** ... and pieces; with more to come it is closed. */
  unreadPieces: 64,
  /** Milliseconds for the same, and until such a connection is closed whether its answer was taken or not. */
  unreadMs: 2000,
  /** Milliseconds that a client may leave its answer unread, and one more second for ... */
  stalledReaderMs: 60_000,
  /** ... for this many bytes that wait for it. */
  readerBytesPerSecond: 4096,

  /** Frames in a row that are no requests, before the socket is closed. */
  badFrames: 10,
  /** Running requests on one socket; further ones get an error frame. */
  requestsPerSocket: 64,
  /** Running requests of a client on all its WebSockets: as many as wait by default (--max-queue). */
  clientSocketRequests: 256,
  /** Events that may wait on a socket of /v1/responses; together at most `bodyBytes`. */
  pendingEvents: 16,
  /** Pieces of one WebSocket message. */
  messageFragments: 1024,
  /** Milliseconds of each turn of the event loop that go to the frames of all sockets. */
  frameTurnMs: 5,
  /** Requests that begin, and bodies that are parsed, in each turn of the event loop; each takes up to milliseconds of it. */
  requestsPerTurn: 2,
  /** Bytes waiting in a socket from which on its frames are not read. */
  socketBufferBytes: 2 ** 20,
  /** Milliseconds that a client may take to answer the close of its socket. */
  socketCloseMs: 5000,

  /** Frames of less than 64 bytes, on a connection for gRPC, within a quarter of a second. */
  smallFrames: 4096,
  /** Calls that their client resets, within the same time. */
  resetCalls: 128,
  /** Bytes of frames that carry no data, and of heads beyond 1 KiB a call, within the same time. */
  idleFrameBytes: 256 * 2 ** 10,
  /** Milliseconds that others from its address wait when a connection was closed for one of these. */
  costlyPauseMs: 1000,
} as const;
