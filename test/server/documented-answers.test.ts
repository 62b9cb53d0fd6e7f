/** Answers of the server, held against what /openapi.json says of them. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createDocument } from '../../src/server/openapi/document.ts';
import type { Operation } from '../../src/server/openapi/operation.ts';
import { OPERATIONS } from '../../src/server/openapi/operations.ts';
import { post } from './support/client.ts';
import { useServers } from './support/test-server.ts';

const server = useServers();

const mediaTypes = z.record(z.string(), z.object({ schema: z.looseObject({}).default({}) }));
const operationShape = z.object({
  responses: z.record(z.string(), z.object({ content: mediaTypes })),
});
const document = z
  .object({
    paths: z.record(z.string(), z.record(z.string(), operationShape)),
    components: z.object({ schemas: z.record(z.string(), z.looseObject({})) }),
  })
  .parse(await createDocument('1.2.3'));

const ajv = new Ajv2020({ strict: false });
for (const [name, schema] of Object.entries(document.components.schemas)) {
  ajv.addSchema(schema, `#/components/schemas/${name}`);
}

/** Faults of the document about `response`: what it leaves out or says otherwise; empty if it is true. */
async function untruths({ method, path }: Operation, response: Response): Promise<string> {
  const { status } = response;
  const text = await response.text();
  const type = response.headers.get('content-type')?.split(';')[0] ?? '';
  const content = document.paths[path]?.[method]?.responses[status]?.content;
  if (content === undefined) return `${method} ${path}: ${status} is not documented: ${text}`;
  const schema = content[type]?.schema;
  if (schema === undefined) return `${method} ${path}: ${status} ${type} is not documented`;
  const value: unknown = type === 'application/json' ? JSON.parse(text) : text;
  if (ajv.validate(schema, value)) return '';
  return `${method} ${path}: ${status} ${ajv.errorsText()}: ${text.slice(0, 200)}`;
}

/** These end when the client leaves. */
const ENDLESS = new Set(['/models/sse', '/admin/steps']);

test('every example is taken, and answered as documented', async () => {
  // Lines that the log level's example lets through are written nowhere.
  const logger = pino({ level: 'silent' }, { write() {} });
  const target = await server({ logger, maxModelLen: 1024, fillsIn: true });
  const asked = OPERATIONS.filter(({ example }) => example !== undefined);
  expect(asked.length).toBeGreaterThan(20);
  const made = (await (await post(target, '/v1/conversations', {})).json()) as { id: string };
  for (const operation of asked) {
    const { path, example = {}, body } = operation;
    expect(body?.safeParse(example).success).toBe(true);
    expect(example).not.toHaveProperty('model');
    const response = await post(target, path.replace('{id}', made.id), example);
    expect({ path, status: response.status }).toEqual({ path, status: 200 });
    expect(await untruths(operation, response)).toBe('');
  }
});

test('examples are streamed as documented, where they can be', async () => {
  const target = await server({ fillsIn: true });
  const asked = OPERATIONS.filter(({ streams, example }) => streams && example !== undefined);
  expect(asked.length).toBeGreaterThan(5);
  for (const operation of asked) {
    const response = await post(target, operation.path, { ...operation.example, stream: true });
    expect(response.headers.get('content-type')).not.toContain('application/json');
    expect(await untruths(operation, response)).toBe('');
  }
});

test('whatever can be got is answered as documented', async () => {
  const target = await server();
  const asked = OPERATIONS.filter(({ method, path }) => method === 'get' && !ENDLESS.has(path));
  for (const operation of asked) {
    const path = operation.path.replaceAll('{version}', '1').replaceAll(/\{\w+\}/g, 'org/none');
    const response = await fetch(target.url + path);
    expect(await untruths(operation, response)).toBe('');
  }
});

test('bodies that are no object, and other methods, are refused as documented', async () => {
  const target = await server();
  for (const operation of OPERATIONS.filter(({ method }) => method === 'post')) {
    const path = operation.path.replaceAll('{version}', '1').replaceAll(/\{\w+\}/g, 'none');
    const refused = await post(target, path, '"no"');
    expect({ path, status: refused.status }).not.toEqual({ path, status: 200 });
    expect(await untruths(operation, refused)).toBe('');
    const other = await fetch(target.url + path, { method: 'PATCH' });
    expect(other.status).toBe(405);
    expect(await untruths(operation, other)).toBe('');
  }
});

test('what is refused for want of a key is documented', async () => {
  const target = await server({ config: { apiKeys: ['key'] } });
  const closed = OPERATIONS.filter(({ isOpen = false }) => !isOpen);
  for (const operation of closed) {
    const { method, path } = operation;
    const response = await fetch(target.url + path.replaceAll(/\{\w+\}/g, 'none'), { method });
    expect({ path, status: response.status }).toEqual({ path, status: 401 });
    expect(await untruths(operation, response)).toBe('');
  }
});
