import { open } from 'node:fs/promises';
import { readSafetensorsHeader } from '../../src/model/huggingface/safetensors-header.ts';

/** Overwrites bytes of a tensor in a safetensors file. @param at bytes from its first one */
export async function patchTensor(
  path: string,
  name: string,
  at: number,
  bytes: Uint8Array,
): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const entry = (await readSafetensorsHeader(file, path)).get(name);
    if (entry === undefined) throw new Error(`${path} has no ${name}`);
    await file.write(bytes, 0, bytes.length, entry.offset + at);
  } finally {
    await file.close();
  }
}

/** NaN and infinity as they are stored, by the names of safetensors' types. */
export const NOT_FINITE = {
  F32: {
    NaN: [0, 0, 0xc0, 0x7f],
    Infinity: [0, 0, 0x80, 0x7f],
    '-Infinity': [0, 0, 0x80, 0xff],
  },
  F16: { NaN: [1, 0x7e], Infinity: [0, 0x7c], '-Infinity': [0, 0xfc] },
  BF16: { NaN: [0xc1, 0xff], Infinity: [0x80, 0x7f], '-Infinity': [0x80, 0xff] },
} as const;
