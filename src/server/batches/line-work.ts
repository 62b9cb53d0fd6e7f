/** Services that a batch needs to run its lines. */
import type { Logger } from 'pino';
import type { Caller, TokenMeter } from '../../front/caller.ts';
import type { InputLine } from './input-line.ts';
import type { Pause } from './job-turns.ts';

export interface LineResult {
  readonly status: number;
  readonly requestId: string;
  /** JSON, in pieces: the largest answers are longer than is written at once. */
  readonly body: readonly Uint8Array[];
  /** The `usage` of an answer. */
  readonly usage?: unknown;
}

export interface LineCaller extends Pick<Caller, 'client' | 'meter' | 'signal'> {
  readonly pause: Pause;
}

export interface LineWork {
  /**
   * @param endpoint the batch's
   * @throws the reason of the caller's signal
   */
  run(line: InputLine, endpoint: string, caller: LineCaller): Promise<LineResult>;
  /** Meter of an account's token rate; undefined if there is no limit. */
  meterOf(account: string): TokenMeter | undefined;
  readonly logger: Pick<Logger, 'error'>;
}
