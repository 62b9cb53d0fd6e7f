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
