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

/** Starts one engine process after another, and keeps what they leave to each other. */
export class EngineLauncher {
  readonly #spawn: SpawnEngine;
  readonly #reserve = new DescriptorReserve();
  /** Holds a durable KV cache's memory while no engine process does. */
  #sharedMemory: number | undefined;

  constructor(spawn: SpawnEngine = (...args) => new EngineProcess(...args)) {
    this.#spawn = spawn;
    this.#reserve.fill();
  }

  /** @throws Error when the system has no memory for a process; most failures come as its exit */
  launch(options: EngineOptions, events: EngineProcessEvents): EngineHandle {
    const engineProcess = this.#reserve.lend(() => this.#spawn(this.#sharedMemory, events));
    const sharedMemoryFd = this.#sharedMemory === undefined ? null : INHERITED_FD;
    engineProcess.send({ type: 'start', options, sharedMemoryFd });
    return engineProcess;
  }

  /**
   * For a process that is ready.
   * @param sharedMemory its descriptor of a durable KV cache, if it has one
   */
  keep(engineProcess: EngineHandle, sharedMemory: number | null): void {
    if (sharedMemory !== null && this.#sharedMemory === undefined) {
      this.#sharedMemory = this.#reserve.lend(() => engineProcess.openDescriptor(sharedMemory));
    }
    this.#reserve.fill();
  }

  close(): void {
    this.#reserve.release();
    if (this.#sharedMemory !== undefined) closeSync(this.#sharedMemory);
    this.#sharedMemory = undefined;
  }
}
