import { closeSync } from 'node:fs';
import type { EngineHandle } from './engine-process.ts';

/** A durable KV cache's memory, held while no engine process does. */
export class SharedMemory {
  #descriptor: number | undefined;

  /** The descriptor to hand down to the next process; undefined before there is any. */
  get descriptor(): number | undefined {
    return this.#descriptor;
  }

  /** @param descriptor that the process has it by; null if it has none */
  keep(process: EngineHandle, descriptor: number | null): void {
    if (descriptor !== null) this.#descriptor ??= process.openDescriptor(descriptor);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}
