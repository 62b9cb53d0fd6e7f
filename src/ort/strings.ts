import koffi from 'koffi';
import { ort, type Pointer } from './api.ts';

/** ONNX Runtime's default CPU allocator, which owns the strings that the API returns. */
export function defaultAllocator(): Pointer {
  return ort().api.GetAllocatorWithDefaultOptions();
}

/** Reads a string that was allocated with the default allocator, and frees it. */
export function takeString(pointer: Pointer): string {
  const text = koffi.decode.string(pointer);
  ort().api.AllocatorFree(defaultAllocator(), pointer);
  return text;
}
