/** Small files that say they are large images. */
import { deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** A PNG of `side` x `side` white pixels of one bit, all of them there: some kB for 60,000. */
export function pngBomb(side: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head[8] = 1;
  const row = Math.ceil(side / 8) + 1;
  const data = deflateSync(Buffer.alloc(Math.min(row * side, 2 ** 26)));
  return Buffer.concat([SIGNATURE, chunk('IHDR', head), chunk('IDAT', data), chunk('IEND')]);
}

function chunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const typed = Buffer.concat([Buffer.from(type), data]);
  const around = Buffer.alloc(8);
  around.writeUInt32BE(data.length, 0);
  around.writeUInt32BE(crc32(typed), 4);
  return Buffer.concat([around.subarray(0, 4), typed, around.subarray(4)]);
}

/** As PNG has it. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1;
  }
  return (crc ^ 0xffff_ffff) >>> 0;
}

/** Head of a GIF of the largest size that there is; its one frame says that it is as large. */
export function gifBomb(): Buffer {
  const head = Buffer.from('GIF89a\xff\xff\xff\xff\x80\0\0\0\0\0\xff\xff\xff', 'latin1');
  const frame = Buffer.from(',\0\0\0\0\xff\xff\xff\xff\0\x02\x02D\x01\0;', 'latin1');
  return Buffer.concat([head, frame]);
}

/** An animated WebP of 16,384 x 16,384 that has many frames, each of which says little. */
export function webpBomb(): Buffer {
  const head = Buffer.alloc(10, 0xff);
  head.writeUInt32LE(2, 0);
  head[6] = head[9] = 0x3f;
  const frame = riff(
    'ANMF',
    Buffer.concat([Buffer.alloc(16), riff('VP8L', Buffer.alloc(20, 0x2f))]),
  );
  const frames = Array<Buffer>(10_000).fill(frame);
  const body = Buffer.concat([riff('VP8X', head), riff('ANIM', Buffer.alloc(6)), ...frames]);
  return riff('RIFF', Buffer.concat([Buffer.from('WEBP'), body]));
}

function riff(type: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}
