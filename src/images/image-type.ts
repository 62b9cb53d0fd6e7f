/** Beginnings of the files that are read: what a client calls a file is not asked. */
const PNG = '\x89PNG\r\n\x1a\n';
const JPEG = '\xff\xd8\xff';
const GIFS = ['GIF87a', 'GIF89a'];
const HEAD_BYTES = 12;

/** Whether a file begins as an image does that is read here. */
export function isImage(file: Uint8Array): boolean {
  const head = Buffer.from(file.subarray(0, HEAD_BYTES)).toString('latin1');
  const isWebp = head.startsWith('RIFF') && head.endsWith('WEBP');
  return isWebp || [PNG, JPEG, ...GIFS].some((signature) => head.startsWith(signature));
}
