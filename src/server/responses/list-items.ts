/** One page of a response's input items. */
import { z } from 'zod';
import { badRequest } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import { parseWith } from '../schemas/parse.ts';
import type { Item } from './items.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

export const listItemsQuery = z.looseObject({
  limit: z.coerce.number().pipe(z.int().min(1).max(MAX_LIMIT)).optional(),
  order: z.enum(['asc', 'desc']).optional(),
  /** The id of the item that the page follows on. */
  after: z.string().optional(),
});

/** @throws ApiError 400 when `query` is not as expected or names an item that is not there. */
export function listItems(
  items: readonly Item[],
  query: Readonly<Record<string, string>>,
): JsonObject {
  const { limit = DEFAULT_LIMIT, order = 'desc', after } = parseWith(listItemsQuery, query);
  const sorted = order === 'asc' ? items : items.toReversed();
  let start = 0;
  if (after !== undefined) {
    start = sorted.findIndex(({ id }) => id === after) + 1;
    if (start === 0) throw badRequest('`after`: there is no such item.', 'after', 'invalid_value');
  }
  const page = sorted.slice(start, start + limit);
  return {
    object: 'list',
    data: page,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: start + limit < sorted.length,
  };
}
