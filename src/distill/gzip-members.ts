/**
 * A file of gzip members, one for each record: to every gzip reader one text, and yet records can be
 * appended, and read one by one. Each member's header states the member's length.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { UserError } from '../user-error.ts';

const PLAIN_HEADER_BYTES = 10;
/** Length of what follows, then one field: its name `CL`, its length 4, the bytes of the member. */
const EXTRA_BYTES = 10;
const HEADER_BYTES = PLAIN_HEADER_BYTES + EXTRA_BYTES;
/** In hex: gzip, deflated. */
const HEADER_START = '1f8b08';
const FLAGS_AT = 3;
const HAS_EXTRA = 4;
/** Bytes of the extra field up to the member's length. */
const EXTRA_START = Uint8Array.of(8, 0, 0x43, 0x4c, 4, 0);

/** A text as a member. */
export function toMember(text: string): Buffer {
  const plain = gzipSync(text);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(plain.length + EXTRA_BYTES);
  const header = Buffer.from(plain.subarray(0, PLAIN_HEADER_BYTES));
  header[FLAGS_AT] = HAS_EXTRA;
  return Buffer.concat([header, EXTRA_START, length, plain.subarray(PLAIN_HEADER_BYTES)]);
}

/** A record, and where its member ends in the file, in bytes. */
export interface Member {
  readonly text: string;
  readonly end: number;
}

/**
 * The whole members of a file, in order, one in memory at a time. It ends before a last one that was
 * cut off.
 * @throws UserError naming the byte where there is something else
 */
export async function* readMembers(file: FileHandle, path: string): AsyncGenerator<Member, void> {
  const { size } = await file.stat();
  let start = 0;
  for (;;) {
    const header = await read(file, start, Math.min(HEADER_BYTES, size - start));
    if (header.length < HEADER_BYTES) {
      // Half a member may be cut off, but another file is not to lose its text.
      if (start === 0 && !HEADER_START.startsWith(header.toString('hex', 0, 3))) {
        throw damaged(path, start);
      }
      return;
    }
    const extra = header.subarray(PLAIN_HEADER_BYTES, HEADER_BYTES - 4);
    const length = header.readUInt32LE(HEADER_BYTES - 4);
    if (!extra.equals(EXTRA_START) || length <= HEADER_BYTES) throw damaged(path, start);
    if (start + length > size) return;
    const member = await read(file, start, length);
    let text: string;
    try {
      text = gunzipSync(member).toString('utf8');
    } catch (error) {
      throw damaged(path, start, error);
    }
    start += length;
    yield { text, end: start };
  }
}

/** The records of a file that nobody writes to. @throws UserError */
export async function readRecords(path: string): Promise<string[]> {
  const file = await open(path, 'r');
  try {
    const texts: string[] = [];
    for await (const { text } of readMembers(file, path)) texts.push(text);
    return texts;
  } finally {
    await file.close();
  }
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(length), position });
  return buffer.subarray(0, bytesRead);
}

function damaged(path: string, at: number, cause?: unknown): UserError {
  return new UserError(`${path} is damaged or not a file of soft targets (at byte ${at})`, {
    cause,
  });
}
