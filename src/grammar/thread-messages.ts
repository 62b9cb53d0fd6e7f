/** What a grammar thread is asked, and what it answers. */

/** Where a matcher's thread leaves the mask of allowed tokens for the engine to read. */
export interface SharedMask {
  /**
   * Int32: [0] number of generated tokens that the mask follows, -1 before the first; [1] one of
   * MASK_STATES; then a bit per token, 32 a word, set for those allowed.
   */
  readonly buffer: SharedArrayBuffer;
}

export const MASK_POSITION = 0;
export const MASK_STATE = 1;
export const MASK_WORDS = 2;

export const MASK_OK = 0;
/** The matcher refused a token, or failed; the mask is void. */
export const MASK_FAILED = 1;

export type ThreadCommand =
  | { readonly type: 'compile'; readonly ebnf: string }
  | {
      readonly type: 'open';
      readonly id: number;
      readonly ebnf: string;
      /** Tokens already generated, to start behind. */
      readonly tokenIds: Int32Array;
      readonly mask: SharedMask;
    }
  /** Tokens that were sampled: pairs of a matcher's id and a token. */
  | { readonly type: 'accept'; readonly tokens: readonly (readonly [number, number])[] }
  | { readonly type: 'close'; readonly id: number };

export type ThreadAnswer =
  /** Sent once, before any other. */
  | { readonly type: 'ready' }
  /** Sent for each `compile`, in order. */
  | {
      readonly type: 'compiled';
      readonly ebnf: string;
      /** Why it can't be compiled, or null. */
      readonly error: string | null;
    };
