/** Finds the items that one request refers to by their ids. */
import { LIMITS } from '../../limits.ts';
import { badRequest, type ApiError } from '../errors.ts';
import type { Item } from './items.ts';
import type { ResponsePartition } from './partition.ts';
import type { Turn } from './turn.ts';
import { told } from '../../told.ts';

/**
 * Each item is found once, and each turn read once: a short request that refers to long items many
 * times would else become one of any length.
 */
export class ReferencedItems {
  readonly #partition: Pick<ResponsePartition, 'turnOfItem'>;
  readonly #byId: ReadonlyMap<string, Item>;
  readonly #found = new Set<string>();
  readonly #read = new Map<Turn, ReadonlyMap<string, Item>>();
  #numBytesRead = 0;

  /** @param conversation looked into first: ids are chosen by clients, and need not be unique */
  constructor(conversation: readonly Item[], partition: Pick<ResponsePartition, 'turnOfItem'>) {
    this.#partition = partition;
    this.#byId = byId(conversation);
  }

  /** @throws ApiError 400 for an item that was found already, or when the items are too long. */
  find(id: string): Item | undefined {
    if (this.#found.has(id)) throw refused(`item '${told(id, 100)}' is referred to twice.`);
    const item = this.#byId.get(id) ?? this.#itemsOf(this.#partition.turnOfItem(id)).get(id);
    if (item !== undefined) this.#found.add(id);
    return item;
  }

  #itemsOf(turn: Turn | undefined): ReadonlyMap<string, Item> {
    if (turn === undefined) return new Map();
    const known = this.#read.get(turn);
    if (known !== undefined) return known;
    this.#numBytesRead += turn.numBytes;
    if (this.#numBytesRead > LIMITS.conversationBytes) {
      throw refused(
        `the turns of the items referred to have more than ${LIMITS.conversationBytes} bytes.`,
      );
    }
    const items = byId(turn.items());
    this.#read.set(turn, items);
    return items;
  }
}

function byId(items: readonly Item[]): ReadonlyMap<string, Item> {
  return new Map(items.map((item) => [item.id, item]));
}

function refused(reason: string): ApiError {
  return badRequest(`\`input\`: ${reason}`, 'input', 'invalid_value');
}
