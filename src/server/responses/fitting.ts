import type { PreparedChat } from '../../front/chat/prepare-chat.ts';
import { InvalidRequestError } from '../../front/invalid-request.ts';
import type { Item } from './items.ts';

/**
 * With `truncation: auto` as few of the oldest items are dropped as lets the rest fit; found by
 * halving, because each try renders and encodes the conversation.
 */
export async function fitting(
  items: readonly Item[],
  prepare: (items: readonly Item[]) => Promise<PreparedChat>,
): Promise<PreparedChat> {
  try {
    return await prepare(items);
  } catch (error) {
    if (!isTooLong(error)) throw error;
    let tooFew = 0;
    let enough = Math.max(0, items.length - 1);
    // The last item is never dropped: if it does not fit alone, that is the client's to know.
    let prepared = await prepare(items.slice(enough));
    while (enough - tooFew > 1) {
      const middle = Math.floor((tooFew + enough) / 2);
      try {
        prepared = await prepare(items.slice(middle));
        enough = middle;
      } catch (failure) {
        if (!isTooLong(failure)) throw failure;
        tooFew = middle;
      }
    }
    return prepared;
  }
}

/** Whether a conversation, or what is asked of it, is too long for its model. */
export function isTooLong(error: unknown): boolean {
  return error instanceof InvalidRequestError && error.code === 'context_length_exceeded';
}
