import { ort, type Pointer } from './api.ts';
import { Handle } from './handle.ts';
import type { LoadedGraph } from './loaded-graph.ts';
import type { MemoryInfo } from './memory-info.ts';

/** Hands out memory of a session's device. Release it after every tensor allocated from it. */
export class Allocator extends Handle {
  readonly memoryInfo: MemoryInfo;

  /** @throws OrtError when the session has no allocator for that memory */
  constructor(session: LoadedGraph, memoryInfo: MemoryInfo) {
    super(ort().api.CreateAllocator(session.pointer, memoryInfo.pointer));
    this.memoryInfo = memoryInfo;
  }

  protected override free(pointer: Pointer): void {
    ort().api.ReleaseAllocator(pointer);
  }
}
