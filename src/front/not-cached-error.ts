import type { Caller } from './caller.ts';

/** Nothing but a stored answer would have done, and there is none. */
export class NotCachedError extends Error {
  override readonly name = 'NotCachedError';

  constructor() {
    super('there is no cached answer to this request');
  }
}

/** Before something is computed that no cache is asked for. @throws NotCachedError */
export function requireComputable({ cache }: Pick<Caller, 'cache'>): void {
  if (cache?.onlyFound === true) throw new NotCachedError();
}
