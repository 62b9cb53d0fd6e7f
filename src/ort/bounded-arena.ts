/** A bound on what runs take of the CPU's memory: ONNX Runtime has none of its own. */
import { ort } from './api.ts';
import { ortEnvironment } from './environment.ts';
import { OrtError } from './error.ts';
import { MemoryInfo } from './memory-info.ts';

/** Session `config` for taking memory from this arena. */
export const IN_BOUNDED_ARENA = { 'session.use_env_allocators': '1' } as const;

/** Run options for giving back the memory taken beyond `FIRST_BYTES`. */
export const GIVES_BACK = { 'memory.enable_memory_arena_shrinkage': 'cpu:0' } as const;

/** Initial size of the arena, kept between runs. */
const FIRST_BYTES = 32 * 2 ** 20;

let isThere = false;

/**
 * Makes the arena, in place of the one that was there; sessions that are open keep theirs.
 * @param maxBytes of weights, outputs and all between them; texts in tensors of strings are not in it
 */
export function makeBoundedArena(maxBytes: number): void {
  const { api } = ort();
  const environment = ortEnvironment();
  const memory = MemoryInfo.cpu().pointer;
  const config = { max_mem: maxBytes, initial_chunk_size_bytes: Math.min(FIRST_BYTES, maxBytes) };
  const keys = Object.keys(config);
  const values = BigUint64Array.from(Object.values(config), BigInt);
  const arena = api.CreateArenaCfgV2(keys, values, keys.length);
  try {
    if (isThere) api.UnregisterAllocator(environment, memory);
    api.CreateAndRegisterAllocator(environment, memory, arena);
    isThere = true;
  } finally {
    api.ReleaseArenaCfg(arena);
  }
}

/** Whether a run failed because the arena has no more. */
export function isBeyondArena(error: unknown): boolean {
  return error instanceof OrtError && /bfc_arena|Failed to allocate memory/.test(error.message);
}
