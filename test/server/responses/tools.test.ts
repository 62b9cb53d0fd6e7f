/** Tools and items as coding agents send them. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { unnamedKeys, ApiKeys } from '../../../src/server/auth/api-keys.ts';
import { LIMITS } from '../../../src/limits.ts';
import { HERMES, THINK } from '../../support/chat-formats.ts';
import { errorOf, post } from '../support/client.ts';
import { namedEventsOf } from '../support/named-events.ts';
import {
  says,
  useServers,
  type TestServer,
  type TestServerOptions,
} from '../support/test-server.ts';

const start = useServers();
const chatFormat = { toolCalls: HERMES, reasoning: THINK };
const server = (options: TestServerOptions = {}) =>
  start({ chatFormat, maxModelLen: 2000, ...options });
const PATH = '/v1/responses';

const responseObject = z.looseObject({
  id: z.string(),
  output: z.array(z.looseObject({ type: z.string() })),
});

async function create(target: TestServer, body: object, headers: Record<string, string> = {}) {
  const response = await post(target, PATH, body, { headers });
  expect(response.status).toBe(200);
  return responseObject.parse(await response.json());
}

function promptOf({ engine, runtime }: TestServer): string {
  const promptTokenIds = engine.requests.at(-1)?.promptTokenIds ?? [];
  return runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false });
}

const calls = (name: string, args: object) =>
  says(`<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`);

const PATCH = { type: 'custom', name: 'apply_patch', description: 'Edits files.' };

describe('custom tools', () => {
  test('are called with a text', async () => {
    const target = await server({ script: calls('apply_patch', { input: '*** Begin\n"a"' }) });
    const { output } = await create(target, { input: 'Hi', tools: [PATCH] });
    expect(output).toMatchObject([
      {
        type: 'custom_tool_call',
        status: 'completed',
        name: 'apply_patch',
        input: '*** Begin\n"a"',
      },
    ]);
  });

  test('are told of in events of their own', async () => {
    const target = await server({ script: calls('apply_patch', { input: 'x' }) });
    const body = { input: 'Hi', tools: [PATCH], stream: true };
    const events = await namedEventsOf(await post(target, PATH, body));
    const types = events.map(({ type }) => type);
    expect(types.slice(2, -1)).toEqual([
      'response.output_item.added',
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.done',
      'response.output_item.done',
    ]);
  });

  test('show their grammar to the model, and it is kept to', async () => {
    const target = await server({ script: calls('date', { input: '2026' }) });
    const lark = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' };
    const regex = { type: 'grammar', syntax: 'regex', definition: '[0-9]{4}' };
    const tools = [
      { ...PATCH, format: lark },
      { type: 'custom', name: 'date', format: regex },
    ];
    const { output } = await create(target, { input: 'Hi', tools });
    expect(output).toMatchObject([{ type: 'custom_tool_call', input: '2026' }]);
    expect(promptOf(target)).toContain('follows this lark grammar');
    const ebnf = target.engine.requests[0]?.grammar?.ebnf ?? '';
    expect(ebnf).toContain('[0-9]');
    expect(ebnf).toMatch(/::= "a"/);
  });

  test.each([
    ['lark', 'start: b', '`tools`: tools/0: Lark grammar, line 1: `b` is not defined'],
    ['regex', '(?=a)', '`tools`: tools/0: regular expression, character'],
  ])('a wrong grammar in %s is refused', async (syntax, definition, reason) => {
    const tools = [{ ...PATCH, format: { type: 'grammar', syntax, definition } }];
    const { message } = await errorOf(
      await post(await server(), PATH, { input: 'Hi', tools }),
      400,
    );
    expect(message).toContain(reason);
  });

  test('calls and outputs of earlier turns reach the model', async () => {
    const target = await server();
    await create(target, {
      input: [
        { role: 'user', content: 'A' },
        { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: 'x' },
        { type: 'custom_tool_call_output', call_id: 'c1', output: 'done' },
        { type: 'local_shell_call', call_id: 'c2', action: { command: ['ls'] } },
        { type: 'local_shell_call_output', call_id: 'c2', output: 'a.txt' },
        {
          type: 'apply_patch_call',
          call_id: 'c3',
          operation: { type: 'delete_file', path: 'b.txt' },
        },
        { type: 'apply_patch_call_output', call_id: 'c3', status: 'completed', output: 'gone' },
        { type: 'tool_search_call', id: 'ts_1', status: 'completed', arguments: {} },
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: {} },
      ],
    });
    const prompt = promptOf(target);
    expect(prompt).toContain('{"name": "apply_patch", "arguments": {"input": "x"}}');
    expect(prompt).toContain('{"name": "local_shell", "arguments": {"command": ["ls"]}}');
    expect(prompt).toContain('done');
    expect(prompt).toContain('a.txt');
    expect(prompt).toContain('{"type": "delete_file", "path": "b.txt"}');
    expect(prompt).toContain('gone');
    expect(prompt).not.toContain('tool_search');
    expect(prompt).not.toContain('web_search');
  });

  test('an output without its call is refused', async () => {
    const target = await server();
    const input = [{ type: 'custom_tool_call_output', call_id: 'c9', output: 'x' }];
    const { message } = await errorOf(await post(target, PATH, { input }), 400);
    expect(message).toContain('No tool call found for custom tool call output with call_id c9');
  });
});

describe('namespaces', () => {
  const crm = {
    type: 'namespace',
    name: 'crm',
    description: 'Customers.',
    tools: [{ type: 'function', name: 'find', parameters: { type: 'object' } }],
  };

  test('their functions are called by both names', async () => {
    const target = await server({ script: calls('crm__find', {}) });
    const { output } = await create(target, { input: 'Hi', tools: [crm] });
    expect(output).toMatchObject([{ type: 'function_call', name: 'find', namespace: 'crm' }]);
    await create(target, {
      input: [
        { type: 'function_call', call_id: 'c', name: 'find', namespace: 'crm', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'Ann' },
      ],
      tools: [crm],
    });
    expect(promptOf(target)).toContain('"name": "crm__find"');
  });

  test('count as many tools as they have', async () => {
    const many = { ...crm, tools: Array(LIMITS.tools).fill(crm.tools[0]) };
    const { param } = await errorOf(
      await post(await server(), PATH, { input: 'Hi', tools: [many, crm] }),
      400,
    );
    expect(param).toBe('tools');
  });

  test('say which of their tools is wrong', async () => {
    const tools = [{ ...crm, tools: [{ type: 'web_search' }] }];
    const { param } = await errorOf(await post(await server(), PATH, { input: 'Hi', tools }), 400);
    expect(param).toBe('tools.0.tools.0.type');
  });
});

describe('tools that a hosted service runs', () => {
  test('are left out, and the response says so', async () => {
    const target = await server();
    const tools = [{ type: 'web_search' }, { type: 'function', name: 'look' }];
    const response = await create(target, { input: 'Hi', tools, tool_choice: 'auto' });
    expect(response).toMatchObject({
      warnings: ["Tools of type 'web_search' were left out: this server does not run them."],
    });
    expect(promptOf(target)).not.toContain('web_search');
    expect(await create(target, { input: 'Hi', tools: tools.slice(1) })).not.toHaveProperty(
      'warnings',
    );
  });

  test.each(['required', { type: 'web_search' }])('need not be called: %j', async (choice) => {
    const target = await server();
    const tools = [{ type: 'web_search' }];
    await create(target, { input: 'Hi', tools, tool_choice: choice });
    expect(target.engine.requests).toHaveLength(1);
  });
});

test('thoughts are sealed for their client, who sends them back', async () => {
  const keys = new ApiKeys(unnamedKeys(['a', 'b']));
  const target = await server({ script: says('<think>Hm.</think>Yes.'), keys });
  const include = ['reasoning.encrypted_content'];
  const { output } = await create(target, { input: 'Hi', include }, { authorization: 'Bearer a' });
  const [thought, message] = output;
  expect(thought).toMatchObject({ type: 'reasoning', encrypted_content: expect.any(String) });
  const input = [{ ...thought, content: null }, message, { role: 'user', content: 'So?' }];
  const contentFor = async (key: string) => {
    const headers = { authorization: `Bearer ${key}` };
    const { id } = await create(target, { input }, headers);
    const listed = await fetch(`${target.url}${PATH}/${id}/input_items?order=asc`, { headers });
    const { data } = z.object({ data: z.array(z.looseObject({})) }).parse(await listed.json());
    return data[0]?.['content'];
  };
  expect(await contentFor('a')).toEqual([{ type: 'reasoning_text', text: 'Hm.' }]);
  expect(await contentFor('b')).toEqual([]);
});
