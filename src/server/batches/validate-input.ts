/** Looks at every line of a batch's input before any of them runs. */
import { LIMITS } from '../../limits.ts';
import { ApiError, badRequest } from '../errors.ts';
import type { BatchError } from './batch-record.ts';
import { modelOf, parseInputLine, requireEndpoint } from './input-line.ts';
import { EmptyLinesError, LineTooLongError, readLines } from './line-file.ts';

/** Faults that are told; one is enough for a batch to fail. */
const MAX_ERRORS = 50;

export interface CheckedInput {
  readonly numLines: number;
  readonly model: string | null;
  readonly errors: readonly BatchError[];
}

/** @param signal gives it up */
export async function validateInput(
  path: string,
  endpoint: string,
  signal: AbortSignal,
): Promise<CheckedInput> {
  const errors: BatchError[] = [];
  const customIds = new Set<string>();
  let model: string | null = null;
  try {
    for await (const { number, bytes } of readLines(path, LIMITS.batchLineBytes)) {
      signal.throwIfAborted();
      if (customIds.size === LIMITS.batchLines) throw tooManyLines();
      try {
        const parsed = parseInputLine(bytes.toString('utf8'));
        requireEndpoint(parsed, endpoint);
        if (customIds.has(parsed.customId)) throw duplicate(parsed.customId);
        if (customIds.size === 0) model = modelOf(parsed);
        else if (modelOf(parsed) !== model) throw mismatched(model);
        customIds.add(parsed.customId);
      } catch (error) {
        errors.push(toBatchError(error, number));
        if (errors.length === MAX_ERRORS) break;
      }
    }
    if (customIds.size + errors.length === 0) errors.push(toBatchError(empty(), null));
  } catch (error) {
    const line =
      error instanceof LineTooLongError || error instanceof EmptyLinesError ? error.line : null;
    errors.push(toBatchError(inClientWords(error), line));
  }
  return { numLines: customIds.size, model, errors };
}

function inClientWords(error: unknown): unknown {
  if (error instanceof LineTooLongError) return badRequest(error.message, null, 'line_too_long');
  if (!(error instanceof EmptyLinesError)) return error;
  return badRequest(error.message, null, 'too_many_empty_lines');
}

/** @throws what is no fault of the input's */
function toBatchError(error: unknown, line: number | null): BatchError {
  if (!(error instanceof ApiError)) throw error;
  const { code, message, param } = error;
  return { code: code ?? 'invalid_request', message, param, line };
}

function tooManyLines(): ApiError {
  const message = `A batch has at most ${LIMITS.batchLines} requests.`;
  return badRequest(message, null, 'too_many_requests');
}

function empty(): ApiError {
  return badRequest('The file has no lines.', null, 'empty_file');
}

function duplicate(customId: string): ApiError {
  const message = `\`custom_id\`: an earlier line has '${customId}' already.`;
  return badRequest(message, 'custom_id', 'duplicate_custom_id');
}

function mismatched(model: string | null): ApiError {
  const expected = model === null ? 'no `model`' : `\`${model}\``;
  const message = `\`body.model\`: all lines of a batch are for one model, and the first has ${expected}.`;
  return badRequest(message, 'body.model', 'mismatched_model');
}
