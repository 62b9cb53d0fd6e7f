import { open } from 'node:fs/promises';

import { readRange } from '../file-range.ts';
import { MAGIC } from './gguf-header.ts';
import { HeaderCursor, NeedsMoreBytes } from './header-cursor.ts';
import { GgufMetadata, type MetadataValue, readMetadataValue } from './metadata.ts';

/** Bytes that are read: what the model is comes first, and its vocabulary behind it. */
const BEGINNING = 2 ** 16;

/** Bytes of the magic number, the version and the number of tensors. */
const COUNTS = 16;

/**
 * Reads a GGUF file's metadata about its model, which is in its first bytes.
 * @throws {ModelError} if they are damaged
 */
export async function readGgufBeginning(path: string): Promise<GgufMetadata> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const bytes = Buffer.allocUnsafe(Math.min(size, BEGINNING));
    await readRange(file, 0, bytes, path);
    return new GgufMetadata(readPairs(new HeaderCursor(bytes, size, path), path), path);
  } finally {
    await file.close();
  }
}

/** Whether a file is one, whatever its name is. */
export async function beginsAsGguf(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0);
    return buffer.toString('latin1') === MAGIC;
  } finally {
    await file.close();
  }
}

function readPairs(cursor: HeaderCursor, path: string): Map<string, MetadataValue> {
  cursor.take(COUNTS, 'its counts');
  const values = new Map<string, MetadataValue>();
  try {
    const numPairs = cursor.uint64('the number of metadata keys');
    while (values.size < numPairs) {
      const key = cursor.string('a metadata key');
      values.set(key, readMetadataValue(cursor, `"${key}"`, path));
    }
  } catch (error) {
    if (!(error instanceof NeedsMoreBytes)) throw error;
  }
  return values;
}
