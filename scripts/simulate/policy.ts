import {
  DEFAULT_PREFILL_POLICY,
  type PrefillPolicy,
} from '../../src/engine/scheduling/prefill-budget.ts';
import { AGING_MS } from '../../src/engine/request.ts';

/** The settings of serving, apart from the machine. */
export interface Policy {
  /** `static` takes a whole batch once the one before it has ended. */
  readonly batching: 'continuous' | 'static';
  readonly prefixCaching: boolean;
  readonly targetItlMs: number | null;
  readonly prefill: PrefillPolicy;
  /** The machine's own if null. */
  readonly maxNumBatchedTokens: number | null;
  /** Rows for finished texts, as a share of the sequences that run at once. */
  readonly spareRows: number;
  /** Share of the machine's memory for the KV cache. */
  readonly kvCacheShare: number;
  /** How long a request waits to make up for one level of priority. */
  readonly agingMs: number;
  /** Turns by client, or first come, first served. */
  readonly queue: 'fair' | 'fifo';
  /** Requests that the engine holds beyond its rows, as a share of them. */
  readonly lookahead: number;
  /** Whether requests are of the service classes that they say. */
  readonly hasClasses: boolean;
  /** A group that is sent away, to see how the others do without it. */
  readonly without: string | null;
}

/** As the server runs when nothing is said. */
export const DEFAULT_POLICY: Policy = {
  batching: 'continuous',
  prefixCaching: true,
  targetItlMs: null,
  prefill: DEFAULT_PREFILL_POLICY,
  maxNumBatchedTokens: null,
  spareRows: 1,
  kvCacheShare: 1,
  agingMs: AGING_MS,
  queue: 'fair',
  lookahead: 1 / 32,
  hasClasses: true,
  without: null,
};
