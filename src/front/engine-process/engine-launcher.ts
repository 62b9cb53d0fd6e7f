import { closeSync } from 'node:fs';
import type { EngineOptions } from '../../engine/process/protocol.ts';
import { DescriptorReserve } from './descriptor-reserve.ts';
import {
  type EngineHandle,
  EngineProcess,
  type EngineProcessEvents,
  INHERITED_FD,
  type SpawnEngine,
} from './engine-process.ts';

/** Starts one engine process after another, and keeps what one leaves for the next. */
export class EngineLauncher {
  readonly #spawn: SpawnEngine;
  readonly #reserve = new DescriptorReserve();
  /** Holds a durable KV cache's memory while no engine process does. */
  #sharedMemoryFd: number | undefined;

  constructor(spawn: SpawnEngine = (...args) => new EngineProcess(...args)) {
    this.#spawn = spawn;
    this.#reserve.fill();
  }

  /** @throws Error when the system has no memory for a process; most failures come as its exit */
  launch(options: EngineOptions, events: EngineProcessEvents): EngineHandle {
    const engineProcess = this.#reserve.lend(() => this.#spawn(this.#sharedMemoryFd, events));
    const inheritedFd = this.#sharedMemoryFd === undefined ? null : INHERITED_FD;
    engineProcess.send({ type: 'start', options, sharedMemoryFd: inheritedFd });
    return engineProcess;
  }

  /**
   * For a process that is ready.
   * @param sharedMemoryFd its descriptor of a durable KV cache, if it has one
   */
  keep(engineProcess: EngineHandle, sharedMemoryFd: number | null): void {
    if (sharedMemoryFd !== null && this.#sharedMemoryFd === undefined) {
      this.#sharedMemoryFd = this.#reserve.lend(() => engineProcess.openDescriptor(sharedMemoryFd));
    }
    this.#reserve.fill();
  }

  close(): void {
    this.#reserve.release();
    if (this.#sharedMemoryFd !== undefined) closeSync(this.#sharedMemoryFd);
    this.#sharedMemoryFd = undefined;
  }
}
