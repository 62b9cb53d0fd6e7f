/** Runs a zod schema over a body and words the first fault for the client. */
import type { z } from 'zod';
import { badRequest, type ApiError } from '../errors.ts';

/**
 * `value` as `schema` describes it.
 * @param path of `value` in the body, for the error's `param`.
 * @throws ApiError 400 naming the field.
 */
export function parseWith<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  path: readonly PropertyKey[] = [],
): z.infer<Schema> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw issue === undefined ? badRequest('The request is not valid.') : toBadRequest(issue, path);
}

function toBadRequest(issue: z.core.$ZodIssue, prefix: readonly PropertyKey[]): ApiError {
  const path = [...prefix, ...issue.path];
  if (path.length === 0) return badRequest('The request body must be a JSON object.');
  const param = path.map(String).join('.');
  if (issue.input === undefined) {
    return badRequest(`\`${param}\` is required.`, param, 'missing_required_parameter');
  }
  return badRequest(`\`${param}\`: ${issue.message}.`, param, 'invalid_value');
}
