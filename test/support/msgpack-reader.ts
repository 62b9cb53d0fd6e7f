/**
 * Reads a MessagePack value, by its specification: what the server writes with a package is read here
 * by other code. Types that have no place in events of the cache are refused.
 */
export function unpack(bytes: Uint8Array): unknown {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const take = (length: number) => (at += length) - length;
  const text = (length: number) => Buffer.from(bytes.subarray(take(length), at)).toString('utf8');
  const list = (length: number): unknown[] => Array.from({ length }, value);
  function value(): unknown {
    const tag = view.getUint8(take(1));
    if (tag < 0x80) return tag;
    if (tag >= 0xe0) return tag - 0x100;
    if (tag >= 0x90 && tag < 0xa0) return list(tag & 0xf);
    if (tag >= 0xa0 && tag < 0xc0) return text(tag & 0x1f);
    switch (tag) {
      case 0xc0:
        return null;
      case 0xca:
        return view.getFloat32(take(4));
      case 0xcb:
        return view.getFloat64(take(8));
      case 0xcc:
        return view.getUint8(take(1));
      case 0xcd:
        return view.getUint16(take(2));
      case 0xce:
        return view.getUint32(take(4));
      case 0xcf:
        return Number(view.getBigUint64(take(8)));
      case 0xd9:
        return text(view.getUint8(take(1)));
      case 0xda:
        return text(view.getUint16(take(2)));
      case 0xdc:
        return list(view.getUint16(take(2)));
      case 0xdd:
        return list(view.getUint32(take(4)));
      default:
        throw new Error(`an event has the type ${tag.toString(16)}`);
    }
  }
  const read = value();
  if (at !== bytes.byteLength) throw new Error(`${bytes.byteLength - at} bytes are left over`);
  return read;
}
