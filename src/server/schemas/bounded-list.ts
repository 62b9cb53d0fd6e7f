import { z } from 'zod';

/**
 * A list whose length is checked before its items: in the other order a hostile body with millions
 * of bad items would cost as many error objects.
 */
export function boundedList<Item extends z.ZodType>(item: Item, maxLength: number) {
  return z
    .custom<unknown[]>((value) => Array.isArray(value) && value.length <= maxLength, {
      error: `expected a list of at most ${maxLength} items`,
    })
    .pipe(z.array(item));
}
