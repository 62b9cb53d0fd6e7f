/** Errors that each operation may answer with, in the form of its API. */
import { isAnthropicPath } from '../anthropic/errors.ts';
import { isCoherePath } from '../embeddings/cohere-error.ts';
import type { ErrorStatus } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import { isKservePath } from '../kserve/errors.ts';
import { isOllamaPath } from '../ollama/errors.ts';
import { HANDOVER_PATH } from '../resume/replica-seal.ts';
import type { Operation } from './operation.ts';

/** The code of the one error that has a code in every form. */
const CODE = { const: 'context_length_exceeded' };

/** Forms of errors, by the names that the document has for them. */
export const ERROR_SCHEMAS = {
  Error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['message', 'type', 'param', 'code'],
        properties: {
          message: { type: 'string' },
          type: { type: 'string' },
          param: { type: ['string', 'null'], description: 'Path of the field at fault.' },
          code: { type: ['string', 'null'] },
        },
      },
    },
  },
  AnthropicError: {
    type: 'object',
    required: ['type', 'error', 'request_id'],
    properties: {
      type: { const: 'error' },
      error: {
        type: 'object',
        required: ['type', 'message'],
        properties: { type: { type: 'string' }, message: { type: 'string' }, code: CODE },
      },
      request_id: { type: ['string', 'null'] },
    },
  },
  CohereError: {
    type: 'object',
    required: ['id', 'message'],
    properties: { id: { type: ['string', 'null'] }, message: { type: 'string' }, code: CODE },
  },
  ErrorText: {
    type: 'object',
    required: ['error'],
    properties: { error: { type: 'string' }, code: CODE },
    description: 'Ollama’s API, and the Open Inference Protocol.',
  },
};

const DESCRIPTIONS: Readonly<Partial<Record<ErrorStatus, string>>> = {
  400: 'The request is not valid; `param` names the field.',
  401: 'The API key is missing or wrong.',
  403: 'The key is not the operator’s, or the server does not answer to this `Host` or `Origin`.',
  404: 'There is no such model, or nothing by this name.',
  405: 'The path takes other methods; `allow` names them.',
  408: 'The request arrived, or the answer was read, too slowly.',
  409: 'The request was ended, or what it needs is not in a state for it.',
  413: 'The body is too large.',
  415: 'A web page sent another type of body than JSON.',
  429: 'The queue is full, or a rate is used up; `retry-after` says when to try again.',
  500: 'A fault of this server; its log says more.',
  501: 'Not served here; the message says why.',
  503: 'The server starts, recovers or shuts down, or the model is not there yet.',
  504: 'The request took longer than its timeout.',
};

/** Whatever the operation: other hosts, other methods, faults of ours. */
const ALWAYS: readonly ErrorStatus[] = [403, 405, 500];

/** A body is read within limits, and names a model that may be away, busy or too slow. */
const WITH_BODY: readonly ErrorStatus[] = [400, 404, 408, 409, 413, 415, 429, 503, 504];

/** The answers of `operation` that are not successes, by status. */
export function describeErrors(operation: Operation): JsonObject {
  const content = { 'application/json': { schema: schemaOf(operation.path) } };
  const entries = statusesOf(operation).map((status) => [
    status,
    { description: DESCRIPTIONS[status] ?? '', content },
  ]);
  return Object.fromEntries(entries);
}

function statusesOf(operation: Operation): readonly ErrorStatus[] {
  const { method, path, query, body, form, errors = [], isOpen = false } = operation;
  const statuses = new Set([...ALWAYS, ...errors]);
  if (!isOpen) statuses.add(401);
  if (query !== undefined) statuses.add(400);
  if (path.includes('{')) for (const status of [400, 404] as const) statuses.add(status);
  // Rates are counted in POSTs.
  if (method === 'post') statuses.add(429);
  if ((body ?? form) !== undefined) for (const status of WITH_BODY) statuses.add(status);
  return [...statuses].toSorted((a, b) => a - b);
}

/** As `createApp` answers. */
function schemaOf(path: string): JsonObject {
  // By the API whose answer goes on.
  if (path === HANDOVER_PATH) return { anyOf: [refTo('Error'), refTo('AnthropicError')] };
  if (isAnthropicPath(path)) return refTo('AnthropicError');
  if (isCoherePath(path)) return refTo('CohereError');
  return refTo(isKservePath(path) || isOllamaPath(path) ? 'ErrorText' : 'Error');
}

function refTo(name: keyof typeof ERROR_SCHEMAS): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}
