/** A page of a list, as OpenAI's files and batches have it. */
import { z } from 'zod';
import { badRequest } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import { shortText } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 10_000;

export const listQuery = z.looseObject({
  limit: z.coerce.number().pipe(z.int().min(1).max(MAX_LIMIT)).optional(),
  order: z.enum(['asc', 'desc']).optional(),
  /** The id that the page follows on. */
  after: shortText.optional(),
});

/**
 * @param all the newest first
 * @throws ApiError 400 for a query that is not as expected, or names what is not there
 */
export function listPage<T extends { readonly id: string }>(
  all: readonly T[],
  query: Readonly<Record<string, string>>,
  describe: (item: T) => JsonObject,
): JsonObject {
  const { limit = DEFAULT_LIMIT, order = 'desc', after } = parseWith(listQuery, query);
  const sorted = order === 'desc' ? all : all.toReversed();
  const start = after === undefined ? 0 : sorted.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) {
    throw badRequest('`after`: there is nothing by this id.', 'after', 'invalid_value');
  }
  const page = sorted.slice(start, start + limit);
  return {
    object: 'list',
    data: page.map(describe),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: start + limit < sorted.length,
  };
}
