/** Values that the packed places in `text` (base64) stand for. */
export function unpacked(text: string, values: readonly number[], bits: 2 | 4): Int8Array {
  const bytes = Buffer.from(text, 'base64');
  const perByte = 8 / bits;
  return Int8Array.from({ length: bytes.length * perByte }, (_, at) => {
    const byte = bytes[Math.floor(at / perByte)] ?? 0;
    return values[(byte >> ((at % perByte) * bits)) & (2 ** bits - 1)] ?? 0;
  });
}
