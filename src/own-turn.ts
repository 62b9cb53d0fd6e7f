import { afterConnections } from './accepted-connections.ts';

let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop that no other caller of this gets, first come, first served: what
 * takes milliseconds for one answer would take many of them in a turn for a dozen answers.
 */
export function ownTurn(): Promise<void> {
  last = last.then(() => new Promise(afterConnections));
  return last;
}
