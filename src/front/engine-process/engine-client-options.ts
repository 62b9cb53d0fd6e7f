import type { BlockListener } from './engine-contract.ts';
import type { SpawnEngine } from './engine-process.ts';

export interface EngineClientOptions {
  /** Called when the process ends unexpectedly: how or why, and how many requests it leaves. */
  readonly onCrash?: (description: string, numUnfinished: number) => void;
  /** An engine that has work and is silent for longer is killed as hung. Never if left out. */
  readonly stepTimeoutMs?: number;
  /** Hears which blocks of the cache can be found. */
  readonly blocks?: BlockListener | undefined;
  /** Starts a process; for tests. */
  readonly spawn?: SpawnEngine;
}
