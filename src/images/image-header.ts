/** Sizes of images by the heads of their files, before anything is decoded. */

export interface ImageHeader {
  readonly width: number;
  readonly height: number;
}

type Read = (file: Buffer) => ImageHeader | null;

/** By the beginnings of files: what a client calls a file is not asked. */
const KINDS: readonly (readonly [signature: string, read: Read])[] = [
  ['\x89PNG\r\n\x1a\n', (file) => sizeAt(file, 16, (at) => file.readUInt32BE(at), 4)],
  ['\xff\xd8\xff', jpegHeader],
  ['GIF87a', gifHeader],
  ['GIF89a', gifHeader],
  ['RIFF', webpHeader],
];
const SIGNATURE_BYTES = 8;
/** Segments of a JPEG before its first frame, and bytes between them. */
const MAX_STEPS = 1024;

/** @returns null for what is none of the kinds that are read, or ends before it says its size */
export function readImageHeader(bytes: Uint8Array): ImageHeader | null {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const head = file.toString('latin1', 0, SIGNATURE_BYTES);
  const [, read] = KINDS.find(([signature]) => head.startsWith(signature)) ?? [];
  return read?.(file) ?? null;
}

/** Two numbers, one after the other. @param size of each, in bytes */
function sizeAt(
  file: Buffer,
  at: number,
  read: (at: number) => number,
  size: number,
): ImageHeader | null {
  return file.length < at + 2 * size ? null : { width: read(at), height: read(at + size) };
}

function gifHeader(file: Buffer): ImageHeader | null {
  return sizeAt(file, 6, (at) => file.readUInt16LE(at), 2);
}

/** Goes from segment to segment, to the first that begins a frame. */
function jpegHeader(file: Buffer): ImageHeader | null {
  for (let at = 2, step = 0; at + 9 <= file.length && step < MAX_STEPS; step++) {
    const marker = file.readUInt8(at + 1);
    if (file[at] !== 0xff) return null;
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: file.readUInt16BE(at + 5), width: file.readUInt16BE(at + 7) };
    at += 2 + file.readUInt16BE(at + 2);
  }
  return null;
}

function webpHeader(file: Buffer): ImageHeader | null {
  if (file.length < 30) return null;
  switch (file.toString('latin1', 8, 16)) {
    case 'WEBPVP8 ':
      return { width: file.readUInt16LE(26) & 0x3fff, height: file.readUInt16LE(28) & 0x3fff };
    case 'WEBPVP8L': {
      const bits = file.readUInt32LE(21);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
    }
    case 'WEBPVP8X':
      return { width: 1 + file.readUIntLE(24, 3), height: 1 + file.readUIntLE(27, 3) };
    default:
      return null;
  }
}
