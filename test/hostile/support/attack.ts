/** Definition of an attack, and of what it is mounted with. */
import type { Client } from './client.ts';

/** Clients beside the server. Without keys both are nobody, from addresses of their own. */
export interface Target {
  readonly attacker: Client;
  readonly victim: Client;
}

export interface Attack {
  /** Description, in the words of the report's table. */
  readonly name: string;
  /** The server's flags, beside those of every attack; or what they are with a folder to write to. */
  readonly flags?: readonly string[] | ((folder: string) => readonly string[]);
  /** Value of `--metrics-port`, where the flags have it. */
  readonly metricsPort?: number;
  /** The server has a key for the attacker and another one for the victim. */
  readonly hasKeys?: true;
  /** Engines end with their models: none is watched. */
  readonly swapsModels?: true;
  /** Longest that a stall of the victim's text may be; as for most attacks if left out. */
  readonly maxDelayMs?: number;
  /** Longest that the victim may wait for a first token, in milliseconds; not looked at if left out. */
  readonly maxWaitMs?: number;
  /**
   * Runs in a process of its own, beside the victim's stream; cut off after `MAX_ATTACK_MS`.
   * @returns what should not have happened, in words. Slowness, memory and answers of 5xx are noticed
   *   without being told.
   */
  run(target: Target): Promise<readonly string[] | void>;
}

export const MAX_ATTACK_MS = 60_000;

/** The keys of servers that have keys. */
export const KEYS = { attacker: 'key-of-the-attacker', victim: 'key-of-the-victim' } as const;
