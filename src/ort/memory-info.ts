import koffi from 'koffi';
import { ort, type Pointer } from './api.ts';
import { Handle } from './handle.ts';
import type { LoadedGraph } from './loaded-graph.ts';

const ARENA_ALLOCATOR = 1;
const DEVICE_ALLOCATOR = 0;
const DEFAULT_MEMORY = 0;

/** Names a kind of memory: the CPU's, or that of a device such as `WebGPU_Buf`. */
export class MemoryInfo extends Handle {
  static #cpu: MemoryInfo | undefined;

  /** Such as `Cpu`, `WebGPU_Buf` or `Cuda`. */
  readonly name: string;
  readonly #isOwned: boolean;

  private constructor(pointer: Pointer, isOwned = true) {
    super(pointer);
    this.name = koffi.decode.string(ort().api.MemoryInfoGetName(pointer));
    this.#isOwned = isOwned;
  }

  get isCpu(): boolean {
    return this.name === 'Cpu';
  }

  /** The CPU's memory; shared, never released. */
  static cpu(): MemoryInfo {
    this.#cpu ??= new MemoryInfo(ort().api.CreateCpuMemoryInfo(ARENA_ALLOCATOR, DEFAULT_MEMORY));
    return this.#cpu;
  }

  /** @param name the provider's name for its memory @param deviceId which device, from 0 */
  static device(name: string, deviceId = 0): MemoryInfo {
    return new MemoryInfo(
      ort().api.CreateMemoryInfo(name, DEVICE_ALLOCATOR, deviceId, DEFAULT_MEMORY),
    );
  }

  /**
   * Where a session wants an input to be, so that it need not be copied. Not to be used after the
   * session's release.
   * @throws RangeError when the graph has no such input
   */
  static ofInput(session: LoadedGraph, inputName: string): MemoryInfo {
    const index = session.inputs.findIndex(({ name }) => name === inputName);
    if (index === -1) throw new RangeError(`the graph has no input "${inputName}"`);
    const infos = new BigUint64Array(session.inputs.length);
    ort().api.SessionGetMemoryInfoForInputs(session.pointer, infos, infos.length);
    return new MemoryInfo(infos[index] ?? 0n, false);
  }

  protected override free(pointer: Pointer): void {
    if (this.#isOwned) ort().api.ReleaseMemoryInfo(pointer);
  }
}
