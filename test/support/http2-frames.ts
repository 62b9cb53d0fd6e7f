/** Frames of HTTP/2 by hand, for clients that send what no library would (RFC 9113, section 4). */

export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  window: 8,
} as const;

const END_HEADERS = 4;

export function frame(
  type: number,
  streamId: number,
  payload: Buffer = Buffer.alloc(0),
  flags = 0,
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** The head of a gRPC call, with fields of HPACK that need no table. */
export function callHead(
  path: string,
  streamId: number,
  fields: Readonly<Record<string, string>> = {},
): Buffer {
  const all = {
    ':method': 'POST',
    ':scheme': 'http',
    ':path': path,
    ':authority': 'localhost',
    'content-type': 'application/grpc',
    ...fields,
  };
  const text = (value: string) => Buffer.from(`${String.fromCharCode(value.length)}${value}`);
  const block = Object.entries(all).flatMap(([name, value]) => [
    Buffer.from([0]),
    text(name),
    text(value),
  ]);
  return frame(FRAME.headers, streamId, Buffer.concat(block), END_HEADERS);
}

/** The prefix of a gRPC message of `length` bytes, and the first of them. */
export function begunMessage(length: number, numBytes: number): Buffer {
  const bytes = Buffer.alloc(5 + numBytes);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}
