/** A line of a batch's input: one request. */
import { z } from 'zod';
import { JsonBoundError, parseBoundedJson } from '../../front/json-bounds.ts';
import { ApiError, badRequest } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import { withExactSeed } from '../schemas/exact-seed.ts';
import { shortText } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';
import { told } from '../../told.ts';

const inputLine = z.looseObject({
  custom_id: shortText.min(1),
  method: z.literal('POST', { error: 'expected `POST`' }),
  url: shortText,
  body: z.looseObject({}),
});

export interface InputLine {
  readonly customId: string;
  readonly url: string;
  readonly body: JsonObject;
}

/** @throws ApiError 400 saying what is wrong with it */
export function parseInputLine(text: string): InputLine {
  let value: unknown;
  try {
    value = parseBoundedJson(text);
  } catch (error) {
    if (!(error instanceof JsonBoundError) && !(error instanceof SyntaxError)) throw error;
    const reason = told(error.message, 200);
    throw badRequest(`This line is not valid JSON: ${reason}.`, null, 'invalid_json_line');
  }
  const { custom_id: customId, url, body } = parseWith(inputLine, value);
  const exact = withExactSeed(body, text);
  return { customId, url, body: typeof exact === 'object' ? { ...exact } : body };
}

/** @param expected the batch's endpoint */
export function requireEndpoint({ url }: InputLine, expected: string): void {
  if (url === expected) return;
  throw new ApiError(
    400,
    'invalid_request_error',
    `\`url\`: expected \`${expected}\`, the endpoint of the batch.`,
    { param: 'url', code: 'mismatched_url' },
  );
}

/** The model that a line names; null for the server's first. */
export function modelOf({ body }: InputLine): string | null {
  return typeof body['model'] === 'string' ? body['model'] : null;
}
