/** Conversations that are summed up. */
import { OpenAI } from 'openai';
import { expect, test } from 'vitest';
import { ApiKeys, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { errorOf, post } from '../support/client.ts';
import { MODEL, says, useServers, type TestServer } from '../support/test-server.ts';

const server = useServers();
const PATH = '/v1/responses';

function clientOf(target: TestServer, apiKey = 'k'): OpenAI {
  return new OpenAI({ baseURL: `${target.url}/v1`, apiKey, maxRetries: 0 });
}

function promptOf({ engine, runtime }: TestServer): string {
  const promptTokenIds = engine.requests.at(-1)?.promptTokenIds ?? [];
  return runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false });
}

const CHAT = [
  { role: 'user' as const, content: 'Build a boat.' },
  { role: 'assistant' as const, content: 'Built.', phase: 'final_answer' as const },
  { role: 'user' as const, content: 'Paint it.' },
];

test('keep what the user said, and a summary that the model reads later', async () => {
  const target = await server({ script: says('A boat is built.'), maxModelLen: 4000 });
  const client = clientOf(target);
  const compacted = await client.responses.compact({ model: MODEL, input: CHAT });
  expect(compacted).toMatchObject({
    object: 'response.compaction',
    output: [
      { type: 'message', role: 'user', content: [{ text: 'Build a boat.' }] },
      { type: 'message', role: 'user', content: [{ text: 'Paint it.' }] },
      { type: 'compaction', encrypted_content: expect.stringMatching(/^[\w-]+$/) as unknown },
    ],
    usage: { output_tokens: expect.any(Number) as unknown },
  });
  expect(JSON.stringify(compacted)).not.toContain('is built');
  expect(promptOf(target)).toContain('Write a summary of this conversation');
  expect(target.engine.requests[0]?.tier).toBeGreaterThan(0);
  const input = [...compacted.output, { role: 'user', content: 'And now?' }];
  await client.responses.create({ model: MODEL, input: input as OpenAI.Responses.ResponseInput });
  const prompt = promptOf(target);
  expect(prompt).toContain('Summary of the conversation so far, which was shortened:\n\nA boat is');
  expect(prompt).toContain('Paint it.');
  expect(prompt).not.toContain('Built.');
});

test('may follow on a response, and are summed up again', async () => {
  const target = await server({ script: says('Short.'), maxModelLen: 4000 });
  const client = clientOf(target);
  const first = await client.responses.create({ model: MODEL, input: CHAT });
  const compacted = await client.responses.compact({
    model: MODEL,
    previous_response_id: first.id,
  });
  expect(compacted.output.map(({ type }) => type)).toEqual(['message', 'message', 'compaction']);
  const input = compacted.output as OpenAI.Responses.ResponseInput;
  const again = await client.responses.compact({ model: MODEL, input });
  expect(again.output.map(({ type }) => type)).toEqual(['message', 'message', 'compaction']);
  expect(promptOf(target)).toContain('Summary of the conversation so far');
});

test('open for the key that made them alone', async () => {
  const keys = new ApiKeys(unnamedKeys(['key-a', 'key-b']));
  const target = await server({ keys, script: says('Secret.'), maxModelLen: 4000 });
  const { output } = await clientOf(target, 'key-a').responses.compact({
    model: MODEL,
    input: 'Hi',
  });
  const headers = { authorization: 'Bearer key-b' };
  const refused = await post(target, PATH, { input: output }, { headers });
  const { message, param } = await errorOf(refused, 400);
  expect(message).toContain('was not made by this server for you');
  expect(param).toBe('input.1.encrypted_content');
});

test('are not made of what cannot be served', async () => {
  const target = await server({ script: says('  '), maxModelLen: 4000 });
  const compact = (body: object) => post(target, `${PATH}/compact`, body);
  expect((await errorOf(await compact({ input: 5 }), 400)).param).toBe('input');
  expect((await errorOf(await compact({ previous_response_id: 'resp_x' }), 400)).code).toBe(
    'previous_response_not_found',
  );
  expect((await errorOf(await compact({ input: 'Hi' }), 500)).message).toContain('no summary');
});
