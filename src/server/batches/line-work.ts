/** What a batch needs of the server for its lines. */
import type { Logger } from 'pino';
import type { Caller, TokenMeter } from '../../front/caller.ts';
import type { JsonObject } from '../json-object.ts';
import type { InputLine } from './input-line.ts';

export interface LineResult {
  readonly status: number;
  readonly requestId: string;
  readonly body: JsonObject;
}

export type LineCaller = Pick<Caller, 'client' | 'meter' | 'signal'>;

export interface LineWork {
  /**
   * @param endpoint the batch's
   * @throws the reason of the caller's signal
   */
  run(line: InputLine, endpoint: string, caller: LineCaller): Promise<LineResult>;
  /** The rate of tokens of an account; undefined where there is no limit. */
  meterOf(account: string): TokenMeter | undefined;
  readonly logger: Pick<Logger, 'error'>;
}
