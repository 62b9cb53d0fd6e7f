import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LIMITS } from '../limits.ts';
import { IN_BOUNDED_ARENA, makeBoundedArena } from '../ort/bounded-arena.ts';
import { Allocator } from '../ort/allocator.ts';
import { MemoryInfo } from '../ort/memory-info.ts';
import { Session } from '../ort/session.ts';
import { Tensor } from '../ort/tensor.ts';

export interface OpenGraph {
  readonly session: Session;
  /** Memory that it may take with its weights; texts in tensors are not counted. */
  readonly maxBytes: number;
}

/**
 * Loads a graph whose runs take no more memory than `LIMITS.tensorRunBytes`: with `Expand`, `Tile` or
 * `Range` in it a request of a few bytes says how much that is.
 * @throws OrtError when it can't be loaded
 */
export async function openGraph(path: string, intraOpThreads: number): Promise<OpenGraph> {
  // Weights lie in the arena too, and ONNX Runtime may lay them out a second time for its kernels.
  const maxBytes = LIMITS.tensorRunBytes + 2 * (await bytesBeside(path));
  makeBoundedArena(maxBytes);
  const session = new Session(path, { intraOpThreads, config: IN_BOUNDED_ARENA });
  takeFirstBytes(session);
  return { session, maxBytes };
}

/** The arena never gives back the first memory that it takes: it should not be that of a large tensor. */
function takeFirstBytes(session: Session): void {
  const allocator = new Allocator(session, MemoryInfo.cpu());
  Tensor.allocate('float', [1], allocator).release();
  allocator.release();
}

/** Size of a graph and all files that its weights may be in. */
async function bytesBeside(path: string): Promise<number> {
  const folder = dirname(path);
  const files = await readdir(folder);
  const sizes = await Promise.all(
    files.map(async (name) => {
      const { size } = await stat(join(folder, name)).catch(() => ({ size: 0 }));
      return size;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
