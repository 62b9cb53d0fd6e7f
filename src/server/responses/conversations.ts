/** Conversations that responses are added to, of one client. */
import { ApiError, badRequest } from '../errors.ts';
import { createId } from '../ids.ts';
import type { JsonObject } from '../json-object.ts';
import { told } from '../../told.ts';
import type { Item } from './items.ts';
import { conversationOf, Turn } from './turn.ts';

const NOT_FOUND = {
  Conversation: { code: 'conversation_not_found' },
  Item: { code: 'item_not_found' },
} as const;

interface Conversation {
  readonly id: string;
  /** Unix time in seconds. */
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A client's share of the response store, as far as conversations need it. */
interface LastTurns {
  /** @param turn null forgets it @param ownBytes memory of the conversation without its items */
  keepLast(conversation: object, turn: Turn | null, ownBytes?: number): void;
  /** Undefined once it was dropped for want of room. */
  lastOf(conversation: object): Turn | undefined;
}

/**
 * Their items are turns, and take room in the response store as responses do: the least recently used
 * is dropped when there is too little.
 */
export class Conversations {
  readonly #partition: LastTurns;
  /** In the order of their last use, so that those which were dropped come first. */
  readonly #byId = new Map<string, Conversation>();

  constructor(partition: LastTurns) {
    this.#partition = partition;
  }

  /** @throws ApiError 400 where nothing is stored */
  create(metadata: Conversation['metadata'], items: readonly Item[]): JsonObject {
    const createdAt = Math.floor(Date.now() / 1000);
    const conversation = { id: createId('conv_'), createdAt, metadata };
    this.#keep(conversation, new Turn(null, items));
    if (this.#partition.lastOf(conversation) !== undefined) return toJson(conversation);
    throw badRequest('Conversations are not stored here.', null, 'not_stored');
  }

  /** @throws ApiError 404; so does every method that takes an id */
  get(id: string): JsonObject {
    return toJson(this.#find(id));
  }

  setMetadata(id: string, metadata: Conversation['metadata']): JsonObject {
    const before = this.#find(id);
    const turn = this.turnOf(id);
    this.#partition.keepLast(before, null);
    const conversation = { ...before, metadata };
    this.#keep(conversation, turn);
    return toJson(conversation);
  }

  delete(id: string): void {
    this.#partition.keepLast(this.#find(id), null);
    this.#byId.delete(id);
  }

  /** The last turn, which new ones follow on. */
  turnOf(id: string): Turn {
    const conversation = this.#find(id);
    return this.#partition.lastOf(conversation) ?? new Turn(null, []);
  }

  /** @throws ApiError 400 for a conversation that is too long to go on with */
  itemsOf(id: string): readonly Item[] {
    return conversationOf(this.turnOf(id));
  }

  add(id: string, items: readonly Item[]): void {
    const conversation = this.#find(id);
    const turn = new Turn(this.turnOf(id), items);
    // Items that could never be read are not taken.
    conversationOf(turn);
    this.#keep(conversation, turn);
  }

  /**
   * As `add`, unless the conversation was deleted or dropped meanwhile.
   * @param turn the same items, after what the answer went on with: written once unless others came between
   */
  addAnswer(id: string, turn: Turn): void {
    const conversation = this.#byId.get(id);
    const last = conversation && this.#partition.lastOf(conversation);
    if (!conversation || !last) return;
    this.#keep(conversation, turn.previous === last ? turn : new Turn(last, turn.items()));
  }

  /** @throws ApiError 404 for an item that it does not have, too */
  item(id: string, itemId: string): Item {
    const item = this.itemsOf(id).find((each) => each.id === itemId);
    if (item !== undefined) return item;
    throw notFound('Item', itemId);
  }

  deleteItem(id: string, itemId: string): JsonObject {
    this.item(id, itemId);
    const others = this.itemsOf(id).filter((each) => each.id !== itemId);
    const conversation = this.#find(id);
    this.#keep(conversation, new Turn(null, others));
    return toJson(conversation);
  }

  #find(id: string): Conversation {
    const conversation = this.#byId.get(id);
    if (conversation && this.#partition.lastOf(conversation) !== undefined) return conversation;
    this.#byId.delete(id);
    throw notFound('Conversation', id);
  }

  #keep(conversation: Conversation, turn: Turn): void {
    const { id, metadata } = conversation;
    this.#byId.delete(id);
    this.#byId.set(id, conversation);
    this.#partition.keepLast(conversation, turn, Buffer.byteLength(JSON.stringify(metadata)));
    for (const [other, oldest] of this.#byId) {
      if (this.#partition.lastOf(oldest) !== undefined) return;
      this.#byId.delete(other);
    }
  }
}

function toJson({ id, createdAt, metadata }: Conversation): JsonObject {
  return { id, object: 'conversation', created_at: createdAt, metadata };
}

function notFound(what: keyof typeof NOT_FOUND, id: string): ApiError {
  const message = `${what} with id '${told(id, 100)}' not found.`;
  return new ApiError(404, 'NotFoundError', message, NOT_FOUND[what]);
}
