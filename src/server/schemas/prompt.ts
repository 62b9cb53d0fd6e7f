/** The `prompt` of completions: a text or a list of token ids, or a list of those. */
import { badRequest } from '../errors.ts';

export type Prompt =
  | { readonly text: string }
  | {
      readonly tokenIds: readonly number[];
      /** Where in the body they are. */
      readonly param: string;
    };

/**
 * The prompts of a request, at least one. Checked by hand: a list may hold a hundred thousand ids,
 * and the first bad one ends it. That they are not too many is checked before they are looked at.
 * @throws ApiError 400 when empty, too many or of another shape.
 */
export function parsePrompts(value: unknown, maxPrompts: number, param = 'prompt'): Prompt[] {
  if (value === undefined || value === null) {
    throw badRequest(`\`${param}\` is required.`, param, 'missing_required_parameter');
  }
  if (!Array.isArray(value) || typeof value[0] === 'number') return [parsePrompt(value, param)];
  const items: readonly unknown[] = value;
  if (items.length === 0) throw emptyPrompt(param);
  if (items.length > maxPrompts) {
    throw badRequest(
      `\`${param}\`: the request comes to ${items.length} sequences, but this server takes at most ${maxPrompts} at once.`,
      param,
      'invalid_value',
    );
  }
  return items.map((item, index) => parsePrompt(item, `${param}.${index}`));
}

function parsePrompt(value: unknown, param: string): Prompt {
  if (typeof value === 'string') {
    if (value === '') throw emptyPrompt(param);
    return { text: value };
  }
  if (Array.isArray(value)) return { tokenIds: parseTokenIds(value, param), param };
  throw badRequest(
    `\`${param}\`: expected a string or a list of token ids.`,
    param,
    'invalid_value',
  );
}

/** @throws ApiError 400 when not a list of whole numbers from 0, empty, or too long. */
export function parseTokenIds(value: unknown, param: string, max = Infinity): number[] {
  if (!Array.isArray(value)) throw badRequest(`\`${param}\`: expected a list of token ids.`, param);
  const items: readonly unknown[] = value;
  if (items.length === 0) throw emptyPrompt(param);
  if (items.length > max) {
    throw badRequest(`\`${param}\`: expected at most ${max} token ids.`, param, 'invalid_value');
  }
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

function emptyPrompt(param: string) {
  return badRequest(`\`${param}\` must not be empty.`, param, 'invalid_value');
}
