/** The `prompt` of completions: a text or a list of token ids, alone or as the one item of a list. */
import { badRequest } from '../errors.ts';

export type Prompt = { readonly text: string } | { readonly tokenIds: readonly number[] };

/**
 * Checked by hand: such a list may hold a hundred thousand ids, and the first bad one ends it.
 * @throws ApiError 400 when empty, of another shape, or of more than one prompt.
 */
export function parsePrompt(value: unknown, param = 'prompt'): Prompt {
  if (value === undefined || value === null) {
    throw badRequest(`\`${param}\` is required.`, param, 'missing_required_parameter');
  }
  if (typeof value === 'string') return { text: requireText(value, param) };
  if (!Array.isArray(value)) throw wrongShape(param);
  const items: readonly unknown[] = value;
  const first = items[0];
  if (first === undefined) throw emptyPrompt(param);
  if (typeof first === 'number') return { tokenIds: parseTokenIds(items, param) };
  if (items.length > 1) {
    throw badRequest(
      `\`${param}\`: more than one prompt in a request is not supported yet; got ${items.length}.`,
      param,
      'unsupported_parameter',
    );
  }
  if (typeof first === 'string') return { text: requireText(first, param) };
  if (Array.isArray(first)) return { tokenIds: parseTokenIds(first, `${param}.0`) };
  throw wrongShape(param);
}

/** @throws ApiError 400 when not a list of whole numbers from 0, or empty. */
export function parseTokenIds(value: unknown, param: string): number[] {
  if (!Array.isArray(value)) throw badRequest(`\`${param}\`: expected a list of token ids.`, param);
  const items: readonly unknown[] = value;
  if (items.length === 0) throw emptyPrompt(param);
  return items.map((item, index) => {
    if (typeof item === 'number' && Number.isInteger(item) && item >= 0) return item;
    const itemParam = `${param}.${index}`;
    throw badRequest(
      `\`${itemParam}\`: expected a token id, a whole number from 0.`,
      itemParam,
      'invalid_value',
    );
  });
}

function requireText(text: string, param: string): string {
  if (text === '') throw emptyPrompt(param);
  return text;
}

function emptyPrompt(param: string) {
  return badRequest(`\`${param}\` must not be empty.`, param, 'invalid_value');
}

function wrongShape(param: string) {
  return badRequest(
    `\`${param}\`: expected a string or a list of token ids.`,
    param,
    'invalid_value',
  );
}
