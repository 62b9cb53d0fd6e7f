import { setMaxListeners } from 'node:events';

/** A signal that aborts with the first of others, for any number of listeners: Node reports more than ten as a leak. */
export function heardByMany(...signals: readonly AbortSignal[]): AbortSignal {
  const any = AbortSignal.any([...signals]);
  setMaxListeners(0, any);
  return any;
}
