/** The OpenAPI document, made from the schemas that check requests. */
import { z } from 'zod';
import type { JsonObject } from '../json-object.ts';
import { FIELD_NOTES } from './field-notes.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

const ERROR_SCHEMA = {
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
};

const ERRORS: Readonly<Record<string, string>> = {
  400: 'The request is not valid; `param` names the field.',
  401: 'The API key is missing or wrong.',
  404: 'There is no such model or response.',
  413: 'The body is too large.',
  429: 'The queue is full; `retry-after` says when to try again.',
  503: 'The server starts, recovers or shuts down.',
};

/** @param version of this server */
export function createDocument(version: string): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of OPERATIONS) {
    const methods = (paths[operation.path] ??= {});
    methods[operation.method] = describe(operation);
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Chairlift',
      version,
      description:
        'A continuous-batching token server for ONNX language models. Unknown fields are accepted; `null` is the same as leaving a field out.',
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [...new Set(OPERATIONS.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: { Error: ERROR_SCHEMA },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
    },
  };
}

/** The JSON schema of a request body. */
export function toBodySchema(body: z.ZodObject): JsonObject {
  const { $schema: _, properties = {}, ...schema } = toJsonSchema(body);
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(properties).map(([field, property]) => {
        const description = FIELD_NOTES[field];
        if (description === undefined || typeof property !== 'object') return [field, property];
        return [field, { ...property, description }];
      }),
    ),
  };
}

function toJsonSchema(schema: z.ZodObject) {
  return z.toJSONSchema(schema, {
    // The output side of the checks: the input side measures lists first, and does not describe
    // their items.
    io: 'output',
    unrepresentable: 'any',
    override({ jsonSchema }) {
      // The bound of every integer; not a limit of this API.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
}

function describe(operation: Operation): JsonObject {
  const { tag, summary, notes, isOpen = false } = operation;
  return {
    tags: [tag],
    summary,
    ...(notes === undefined ? {} : { description: notes }),
    ...(isOpen ? { security: [] } : {}),
    parameters: [...pathParameters(operation.path), ...queryParameters(operation.query)],
    ...describeBody(operation),
    responses: { 200: describeAnswer(operation), ...describeErrors(operation) },
  };
}

function describeBody({ body, form, example }: Operation): JsonObject {
  const schema = body ?? form;
  if (schema === undefined) return {};
  const type = form === undefined ? 'application/json' : 'multipart/form-data';
  const content = {
    [type]: { schema: toBodySchema(schema), ...(example === undefined ? {} : { example }) },
  };
  return { requestBody: { required: true, content } };
}

function describeAnswer(operation: Operation): JsonObject {
  const { answer, answerType = 'application/json', streams } = operation;
  const streamType = streams === 'lines' ? 'application/x-ndjson' : 'text/event-stream';
  const schema = answerType === 'application/json' ? { type: 'object' } : { type: 'string' };
  return {
    description: 'OK',
    content: {
      [answerType]: { schema, ...(answer === undefined ? {} : { example: answer }) },
      ...(streams === undefined ? {} : { [streamType]: { schema: { type: 'string' } } }),
    },
  };
}

function describeErrors({ isOpen = false, body, form }: Operation): JsonObject {
  const statuses = Object.entries(ERRORS).filter(
    ([status]) =>
      (body ?? form) !== undefined || (!isOpen && (status === '401' || status === '404')),
  );
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  return Object.fromEntries(
    statuses.map(([status, description]) => [status, { description, content }]),
  );
}

function pathParameters(path: string): JsonObject[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters(query: z.ZodObject | undefined): JsonObject[] {
  if (query === undefined) return [];
  const { properties = {} } = toJsonSchema(query);
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema,
  }));
}
