import { openSync } from 'node:fs';
import type { EngineCommand, EngineMessage } from '../../engine/process/protocol.ts';
import { type ChildEvents, ChildModule } from '../../threads/child-module.ts';
import { startEarly } from '../../threads/early-child.ts';

const ENTRY = new URL('../../engine/process/main.js', import.meta.url);

/**
 * Starts the process of the next engine while its options are still worked out: it loads its code and ONNX Runtime.
 * @param threads of ONNX Runtime, as the options will have them
 * @returns ends the process, if no engine has become its owner
 */
export function startEngineEarly(threads: number): () => void {
  const command: EngineCommand = { type: 'prepare', threads };
  return startEarly(ENTRY, command);
}

/** The first descriptor after stdin, stdout, stderr and the message channel. */
export const INHERITED_FD = 4;

export type EngineProcessEvents = ChildEvents<EngineMessage>;

export type SpawnEngine = (
  sharedMemoryFd: number | undefined,
  events: EngineProcessEvents,
) => EngineHandle;

export type EngineHandle = Pick<EngineProcess, 'pid' | 'openDescriptor' | 'kill' | 'send' | 'stop'>;

/** One engine process. */
export class EngineProcess extends ChildModule<EngineCommand, EngineMessage> {
  /** @param sharedMemoryFd file descriptor to hand down, if any; the process has it as INHERITED_FD */
  constructor(sharedMemoryFd: number | undefined, events: EngineProcessEvents) {
    super(ENTRY, events, sharedMemoryFd);
  }

  /**
   * Opens a file that the process has open, such as anonymous shared memory, so that it outlives
   * the process. Linux.
   * @returns our own descriptor of it; undefined when the process has ended meanwhile
   */
  openDescriptor(descriptor: number): number | undefined {
    try {
      return openSync(`/proc/${this.child.pid}/fd/${descriptor}`, 'r+');
    } catch {
      return undefined;
    }
  }
}
