/** WebSocket frames as bytes, made once and sent many times: an attacker's own work must not slow it. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Client } from './client.ts';

export const OPCODES = { continuation: 0x0, text: 0x1, binary: 0x2, ping: 0x9 } as const;

export interface FrameOptions {
  readonly opcode?: number;
  /** False for a part of a message that goes on. */
  readonly isLast?: boolean;
}

/** `payload` in a client's frame, masked by zeros; of at most 65,535 bytes. */
export function frame(
  payload: string,
  { opcode = OPCODES.text, isLast = true }: FrameOptions = {},
) {
  const data = Buffer.from(payload);
  const first = (isLast ? 0x80 : 0) | opcode;
  const length =
    data.length < 126 ? [0x80 | data.length] : [0x80 | 126, data.length >> 8, data.length & 0xff];
  return Buffer.concat([Buffer.from([first, ...length, 0, 0, 0, 0]), data]);
}

/** So many copies of `bytes`. */
export function copies(bytes: Buffer, count: number): Buffer {
  return Buffer.alloc(bytes.length * count, bytes);
}

/** A connection that has become a WebSocket; what comes is thrown away. */
export async function rawSocket(client: Client, path: string): Promise<Socket> {
  const socket = await client.connect();
  const head = client.head('GET', path, {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': 13,
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  });
  socket.write(`${head}\r\n`);
  await once(socket, 'data');
  socket.resume();
  return socket;
}

/** Writes it all, as fast as it is taken, or as far as it is taken in `ms`. */
export async function pour(socket: Socket, bytes: Buffer, ms: number): Promise<void> {
  const written = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.write(bytes, () => resolve());
  });
  await Promise.race([written, new Promise((resolve) => setTimeout(resolve, ms))]);
}
