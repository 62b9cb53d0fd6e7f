/** ZeroMQ's protocol as bytes: ZMTP 3.0 without security, as its sockets speak over TCP (RFC 23 of rfc.zeromq.org). */
import { LIMITS } from '../../limits.ts';

/** Kinds of sockets, and those that may connect to them. */
export const PEERS = {
  PUB: ['SUB', 'XSUB'],
  ROUTER: ['REQ', 'DEALER', 'ROUTER'],
} as const;

export type SocketKind = keyof typeof PEERS;

export const GREETING_BYTES = 64;

const VERSION_AT = 10;
const MECHANISM_AT = 12;
const MECHANISM_BYTES = 20;
const NO_SECURITY = 'NULL'.padEnd(MECHANISM_BYTES, '\0');

const FLAGS = { more: 1, long: 2, command: 4 } as const;
/** A length of one byte, of eight. */
const HEAD_BYTES = 2;
const LONG_HEAD_BYTES = 9;

/** The bytes that each side sends first. */
export function greeting(): Buffer {
  const bytes = Buffer.alloc(GREETING_BYTES);
  bytes[0] = 0xff;
  bytes[9] = 0x7f;
  bytes[VERSION_AT] = 3;
  bytes.write(NO_SECURITY, MECHANISM_AT, 'latin1');
  return bytes;
}

/** @param bytes GREETING_BYTES of them. @throws Error for what this side does not speak */
export function requireGreeting(bytes: Buffer): void {
  const isSigned = bytes[0] === 0xff && bytes[9] === 0x7f;
  const mechanism = bytes.toString('latin1', MECHANISM_AT, MECHANISM_AT + MECHANISM_BYTES);
  if (!isSigned || (bytes[VERSION_AT] ?? 0) < 3) throw new Error('no greeting of ZMTP 3');
  if (mechanism !== NO_SECURITY) throw new Error('a mechanism of security that is not known');
}

/** The command by which a socket says what it is. */
export function ready(kind: SocketKind): Buffer {
  const name = 'Socket-Type';
  const length = Buffer.alloc(4);
  length.writeUInt32BE(kind.length);
  return frameOf(
    Buffer.concat([
      Buffer.from(`\x05READY${String.fromCharCode(name.length)}${name}`),
      length,
      Buffer.from(kind),
    ]),
    FLAGS.command,
  );
}

/** @param frame a peer's first. @throws Error unless it is a socket that may connect to `kind` */
export function requirePeer(kind: SocketKind, { isCommand, body }: Frame): void {
  const type = isCommand && isNamed(body, 'READY') ? socketTypeOf(body.subarray(6)) : null;
  if (!PEERS[kind].some((peer) => peer === type)) throw new Error(`no peer of a ${kind} socket`);
}

/** Names of commands come after their length. */
function isNamed(command: Buffer, name: string): boolean {
  return command[0] === name.length && command.toString('latin1', 1, 1 + name.length) === name;
}

/** @throws RangeError for a property that is cut short */
function socketTypeOf(properties: Buffer): string | null {
  for (let at = 0; at < properties.length;) {
    const nameEnd = at + 1 + properties.readUInt8(at);
    const valueEnd = nameEnd + 4 + properties.readUInt32BE(nameEnd);
    // Names are the same in any case.
    if (properties.toString('latin1', at + 1, nameEnd).toLowerCase() === 'socket-type') {
      return properties.toString('latin1', nameEnd + 4, valueEnd);
    }
    at = valueEnd;
  }
  return null;
}

/** The answer to a command by which a peer asks whether this side is there; null for any other. */
export function pongTo(command: Buffer): Buffer | null {
  if (!isNamed(command, 'PING')) return null;
  // After its name comes how long the peer waits, then what is to be sent back.
  return frameOf(Buffer.concat([Buffer.from('\x04PONG'), command.subarray(7)]), FLAGS.command);
}

/** The frames of a message, as they are sent. */
export function messageOf(parts: readonly (Uint8Array | string)[]): Buffer {
  return Buffer.concat(
    parts.map((part, index) =>
      frameOf(Buffer.from(part), index === parts.length - 1 ? 0 : FLAGS.more),
    ),
  );
}

function frameOf(body: Buffer, flags: number): Buffer {
  if (body.length < 256) return Buffer.concat([Buffer.from([flags, body.length]), body]);
  const head = Buffer.alloc(LONG_HEAD_BYTES);
  head[0] = flags | FLAGS.long;
  head.writeBigUInt64BE(BigInt(body.length), 1);
  return Buffer.concat([head, body]);
}

export interface Frame {
  readonly isCommand: boolean;
  /** Whether its message goes on. */
  readonly hasMore: boolean;
  readonly body: Buffer;
}

/** Takes a peer's bytes apart; those of no whole frame are kept. */
export class FrameReader {
  #bytes: Buffer = Buffer.alloc(0);

  push(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
  }

  /** @returns null until so many bytes are there */
  take(numBytes: number): Buffer | null {
    if (this.#bytes.length < numBytes) return null;
    const taken = this.#bytes.subarray(0, numBytes);
    this.#bytes = this.#bytes.subarray(numBytes);
    return taken;
  }

  /** @returns null until a frame is there. @throws Error for one that is too long */
  next(): Frame | null {
    const [flags = 0, short = 0] = this.#bytes;
    const isLong = (flags & FLAGS.long) !== 0;
    const headBytes = isLong ? LONG_HEAD_BYTES : HEAD_BYTES;
    if (this.#bytes.length < headBytes) return null;
    const length = isLong ? Number(this.#bytes.readBigUInt64BE(1)) : short;
    if (length > LIMITS.eventFrameBytes) throw new Error('a frame that is too long');
    const whole = this.take(headBytes + length);
    return (
      whole && {
        isCommand: (flags & FLAGS.command) !== 0,
        hasMore: (flags & FLAGS.more) !== 0,
        body: whole.subarray(headBytes),
      }
    );
  }
}
