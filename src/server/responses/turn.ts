/** Conversations as they are kept: JSON text, so that their size is known and nothing can change. */
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import type { Item } from './items.ts';

/**
 * One turn of a conversation. Turns are shared by all responses that follow on them, and live as
 * long as the last of those: dropping a response breaks no conversation.
 */
export class Turn {
  readonly previous: Turn | null;
  readonly json: string;
  readonly itemIds: readonly string[];
  readonly numBytes: number;
  /** Bytes of the conversation up to and with this turn. */
  readonly numConversationBytes: number;
  /** Responses and turns that hold on to this one. */
  numHolders = 0;

  constructor(previous: Turn | null, items: readonly Item[]) {
    this.previous = previous;
    this.json = JSON.stringify(items);
    this.itemIds = items.map(({ id }) => id);
    this.numBytes = Buffer.byteLength(this.json);
    this.numConversationBytes = this.numBytes + (previous?.numConversationBytes ?? 0);
  }

  items(): Item[] {
    return JSON.parse(this.json);
  }
}

/**
 * The items of a conversation up to and with `turn`, oldest first.
 * @throws ApiError 400 for one that is too long to go on with, before any of it is read
 */
export function conversationOf(turn: Turn | null): Item[] {
  const numBytes = turn?.numConversationBytes ?? 0;
  if (numBytes > LIMITS.conversationBytes) {
    throw badRequest(
      `The conversation so far has ${numBytes} bytes, more than the limit of ${LIMITS.conversationBytes}.`,
      'previous_response_id',
      'conversation_too_long',
    );
  }
  const turns: Item[][] = [];
  for (let current = turn; current !== null; current = current.previous) {
    turns.push(current.items());
  }
  return turns.toReversed().flat();
}
