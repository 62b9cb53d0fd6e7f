import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/limits.ts';
import { errorOf, post } from './support/client.ts';
import { useServers } from './support/test-server.ts';
import { HERMES } from '../support/chat-formats.ts';

const server = useServers();
const chatFormat = { toolCalls: HERMES, reasoning: null };
const long = 'x'.repeat(999);
const says = (content: string) => ({ messages: [{ role: 'user', content }] });
const pattern = { type: 'string', pattern: '((a{100}){100}){100}' };
const wide = { enum: Array.from({ length: 20_000 }, (_, index) => index) };
const format = (schema: object) => ({ format: { type: 'json_schema', name: 'x', schema } });
const tool = { type: 'function', name: 'look' };
const calls = Array.from({ length: LIMITS.messageParts + 1 }, (_, index) => ({
  type: 'function_call',
  call_id: `c${index}`,
  name: 'look',
  arguments: '{}',
}));

describe('errors name the fields that the client sent', () => {
  test.each([
    ['/v1/chat/completions', says(long), 'messages'],
    ['/v1/chat/completions', { ...says('Hi'), max_tokens: 9999 }, 'max_tokens'],
    [
      '/v1/chat/completions',
      { ...says('Hi'), max_completion_tokens: 9999 },
      'max_completion_tokens',
    ],
    ['/v1/chat/completions/render', { messages: [] }, 'messages'],
    ['/v1/completions/render', { prompt: 5 }, 'prompt'],
    ['/v1/completions', { prompt: long }, 'prompt'],
    ['/v1/responses', { input: long }, 'input'],
    ['/v1/responses', { input: calls }, 'input'],
    ['/v1/responses', { input: 'Hi', max_output_tokens: 9999 }, 'max_output_tokens'],
    ['/v1/responses', { input: 'Hi', text: format(pattern) }, 'text.format.schema'],
    ['/v1/responses', { input: 'Hi', text: format(wide) }, 'text.format.schema'],
    ['/v1/responses', { input: 'Hi', tool_choice: 'required' }, 'tool_choice'],
    [
      '/v1/responses',
      { input: 'Hi', tools: [tool], tool_choice: { ...tool, name: 'x' } },
      'tool_choice',
    ],
  ])('%s, %#', async (path, body, field) => {
    const error = await errorOf(await post(await server({ chatFormat }), path, body), 400);
    expect(error.param).toBe(field);
    const named = [...error.message.matchAll(/`([a-z_.]+)`/g)].map(([, name]) => name);
    expect(named.length === 0 || named.includes(field)).toBe(true);
  });
});
