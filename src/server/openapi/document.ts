/** The OpenAPI document, made from the schemas that check requests. */
import { z } from 'zod';
import { ownTurn } from '../../own-turn.ts';
import type { JsonObject } from '../json-object.ts';
import { describeErrors, ERROR_SCHEMAS } from './documented-errors.ts';
import { FIELD_NOTES } from './field-notes.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

/**
 * Each operation in a turn of the event loop: all take some 40 ms at first.
 * @param version of this server
 * @param rootPath see ServerConfig
 */
export async function createDocument(version: string, rootPath = ''): Promise<JsonObject> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of OPERATIONS) {
    const methods = (paths[operation.path] ??= {});
    const body = operation.body ?? operation.form;
    if (body !== undefined) await prepareBodySchema(body);
    methods[operation.method] = describe(operation);
    await ownTurn();
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Chairlift',
      version,
      description:
        'A continuous-batching token server for ONNX language models. Unknown fields are accepted; `null` is the same as leaving a field out.',
    },
    servers: [{ url: rootPath || '/' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [...new Set(OPERATIONS.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: ERROR_SCHEMAS,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
    },
  };
}

/** Several operations take the same body. */
const bodySchemas = new WeakMap<z.ZodObject, JsonObject>();
/** And several bodies the same fields. */
const fieldSchemas = new WeakMap<object, ReturnType<typeof toJsonSchema>>();

/** The JSON schema of a request body. */
export function toBodySchema(body: z.ZodObject): JsonObject {
  const known = bodySchemas.get(body) ?? describeFields(body);
  bodySchemas.set(body, known);
  return known;
}

/** As `toBodySchema`, with a turn of the event loop for each field: a large body takes 15 ms at first. */
async function prepareBodySchema(body: z.ZodObject): Promise<void> {
  for (const field of Object.keys(body.shape)) {
    schemaOfField(body, field);
    await ownTurn();
  }
  toBodySchema(body);
  await ownTurn();
}

function describeFields(body: z.ZodObject): JsonObject {
  const { $schema: _, properties: _none, ...schema } = toJsonSchema(body.pick({}));
  const fields = Object.keys(body.shape).map((field) => schemaOfField(body, field));
  const required = fields.flatMap((field) => field.required ?? []);
  const properties = fields.flatMap((field) => Object.entries(field.properties ?? {}));
  return {
    ...schema,
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(
      properties.map(([field, property]) => {
        const description = FIELD_NOTES[field];
        if (description === undefined || typeof property !== 'object') return [field, property];
        return [field, { ...property, description }];
      }),
    ),
  };
}

/** The schema of an object with that field alone. */
function schemaOfField(body: z.ZodObject, field: string): ReturnType<typeof toJsonSchema> {
  const type: z.core.$ZodType = body.shape[field];
  const known = fieldSchemas.get(type);
  if (known && Object.hasOwn(known.properties ?? {}, field)) return known;
  const schema = toJsonSchema(z.object({ [field]: type }));
  fieldSchemas.set(type, schema);
  return schema;
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

function describeBody({
  body,
  form,
  fileType,
  example,
  isBodyOptional = false,
}: Operation): JsonObject {
  const schema = body ?? form;
  if (schema === undefined) return {};
  const type = form === undefined ? 'application/json' : 'multipart/form-data';
  const content = {
    [type]: { schema: toBodySchema(schema), ...(example === undefined ? {} : { example }) },
    ...(fileType === undefined ? {} : { [fileType]: {} }),
  };
  return { requestBody: { required: !isBodyOptional, content } };
}

function describeAnswer(operation: Operation): JsonObject {
  const { answer, answerType = 'application/json', otherType, streams } = operation;
  const streamType = streams === 'lines' ? 'application/x-ndjson' : 'text/event-stream';
  const others = [streams === undefined ? [] : streamType, otherType ?? []].flat();
  const isJson = answerType === 'application/json';
  return {
    description: 'OK',
    content: {
      [answerType]: {
        ...(isJson ? { schema: answerSchemaOf(operation) } : textOf(answerType)),
        ...(answer === undefined ? {} : { example: answer }),
      },
      ...Object.fromEntries(others.map((type) => [type, textOf(type)])),
    },
  };
}

/** Without a schema for events: some readers take it for that of each event, others for that of all. */
function textOf(type: string): JsonObject {
  return type === 'text/event-stream' ? {} : { schema: { type: 'string' } };
}

/** An object that has the fields of the example, each of its type. */
function answerSchemaOf({ answer, answerSchema, optionalFields = [] }: Operation): JsonObject {
  if (answerSchema !== undefined) return answerSchema;
  if (answer === undefined) return { type: 'object' };
  const required = Object.keys(answer).filter((name) => !optionalFields.includes(name));
  const properties = Object.fromEntries(required.map((name) => [name, typeOf(answer[name])]));
  return { type: 'object', required, properties };
}

/** Null in an example may be anything elsewhere. */
function typeOf(value: unknown): JsonObject {
  if (value === null) return {};
  return { type: Array.isArray(value) ? 'array' : typeof value };
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
