/** Commands to a grammar thread, and its answers. */

import type { GrammarSource } from './grammar-source.ts';
import type { SharedMatchData } from './shared-match.ts';

export type ThreadCommand =
  | {
      readonly type: 'compile';
      readonly id: number;
      readonly source: Pick<GrammarSource, 'form' | 'thought'>;
    }
  | {
      readonly type: 'open';
      readonly id: number;
      readonly ebnf: string;
      /** Tokens already generated, to start after. */
      readonly tokenIds: Int32Array;
      readonly match: SharedMatchData;
    }
  /** Tokens that were sampled, in order: pairs of a matcher's id and a token. */
  | {
      readonly type: 'accept';
      readonly tokens: readonly (readonly [number, number])[];
      /** Whether forced tokens after them are wanted. */
      readonly looksAhead: boolean;
    }
  /** Asks for the masks after each of these tokens, in case they come next; see SharedMatch. */
  | {
      readonly type: 'draft';
      readonly id: number;
      /** The masks' stamp. */
      readonly number: number;
      readonly tokenIds: Int32Array;
    }
  | { readonly type: 'close'; readonly id: number };

export type ThreadAnswer =
  /** Sent once, before any other. */
  | { readonly type: 'ready' }
  /** Sent for each `compile`, in order. */
  | {
      readonly type: 'compiled';
      readonly id: number;
      /** Empty when it can't be compiled. */
      readonly ebnf: string;
      /** Why it can't be compiled, or null. */
      readonly error: string | null;
      /** Memory of the thread's WebAssembly, which never shrinks. */
      readonly memoryBytes: number;
    }
  /** Sent for each `close`, in order: nothing is worked out for that matcher any more. */
  | { readonly type: 'closed' };
