/** Per minute; null is no limit. */
export interface Rates {
  readonly requests: number | null;
  readonly tokens: number | null;
}

export const NO_RATES: Rates = { requests: null, tokens: null };
