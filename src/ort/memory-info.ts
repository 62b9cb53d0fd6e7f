import { ort, type Pointer } from './api.ts';
import { Handle } from './handle.ts';

const ARENA_ALLOCATOR = 1;
const DEVICE_ALLOCATOR = 0;
const DEFAULT_MEMORY = 0;

/** Names a kind of memory: the CPU's, or that of a device such as `WebGPU_Buf`. */
export class MemoryInfo extends Handle {
  static #cpu: MemoryInfo | undefined;

  readonly isCpu: boolean;

  private constructor(pointer: Pointer, isCpu: boolean) {
    super(pointer);
    this.isCpu = isCpu;
  }

  /** The CPU's memory; shared, never released. */
  static cpu(): MemoryInfo {
    this.#cpu ??= new MemoryInfo(
      ort().api.CreateCpuMemoryInfo(ARENA_ALLOCATOR, DEFAULT_MEMORY),
      true,
    );
    return this.#cpu;
  }

  /** @param name the provider's name for its memory @param deviceId which device, from 0 */
  static device(name: string, deviceId = 0): MemoryInfo {
    return new MemoryInfo(
      ort().api.CreateMemoryInfo(name, DEVICE_ALLOCATOR, deviceId, DEFAULT_MEMORY),
      false,
    );
  }

  protected override free(pointer: Pointer): void {
    ort().api.ReleaseMemoryInfo(pointer);
  }
}
