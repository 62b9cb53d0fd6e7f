import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../../web/src/views/chat/model/types.ts';
import { copyAs } from '../../web/src/views/chat/request/copy-as.ts';
import { fullText, toRequestBody } from '../../web/src/views/chat/request/request-body.ts';
import { message } from './messages.ts';

test('nothing is sent that was not set', () => {
  expect(toRequestBody([message('q1', null)], DEFAULT_SETTINGS, null)).toEqual({
    messages: [{ role: 'user', content: 'q1' }],
    stream: true,
    stream_options: { include_usage: true, continuous_usage_stats: true },
  });
});

test('settings become fields', () => {
  const settings = {
    ...DEFAULT_SETTINGS,
    system: 'Be brief.',
    parameters: { temperature: 0, stop: ['x'] },
    output: 'schema' as const,
    schema: '{"type": "object"}',
    tools: '[{"type": "function", "function": {"name": "f"}}]',
    toolChoice: 'required' as const,
    logprobs: true,
  };
  expect(toRequestBody([message('q1', null)], settings, 'm')).toMatchObject({
    model: 'm',
    messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
    temperature: 0,
    stop: ['x'],
    response_format: { type: 'json_schema', json_schema: { schema: { type: 'object' } } },
    tools: [{ type: 'function' }],
    tool_choice: 'required',
    logprobs: true,
  });
});

test('an answer that begins with something goes on with it', () => {
  const body = toRequestBody([message('q1', null)], DEFAULT_SETTINGS, null, 'Once');
  expect(body).toMatchObject({ continue_final_message: true });
  expect(body.messages.at(-1)).toEqual({ role: 'assistant', content: 'Once' });
});

test('calls and their results', () => {
  const call = { id: 'c1', name: 'f', arguments: '{}' };
  const path = [
    message('a1', 'q1', { content: '', toolCalls: [call] }),
    message('t1', 'a1', { role: 'tool', content: '7', toolCallId: 'c1' }),
  ];
  expect(toRequestBody(path, DEFAULT_SETTINGS, null).messages).toEqual([
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', content: '7', tool_call_id: 'c1' },
  ]);
});

test('no text ends the fence that it is in', () => {
  const text = '```\nnot the end\n````';
  const full = fullText({ content: 'What is it?', attachments: [{ name: 'a.md', text }] });
  expect(full).toBe(`a.md:\n\`\`\`\`\`\n${text}\n\`\`\`\`\`\n\nWhat is it?`);
});

test('a request as a program, without a key and with quotes that hold', () => {
  const path = [message('q1', null, { content: "It's" })];
  const body = toRequestBody(path, DEFAULT_SETTINGS, 'm');
  const curl = copyAs('curl', body, 'http://here');
  expect(curl).toContain(String.raw`It'\''s`);
  expect(curl).toContain('$CHAIRLIFT_API_KEY');
  expect(copyAs('openai', body, 'http://here')).toContain("baseURL: 'http://here/v1'");
  expect(copyAs('WebSocket', body, 'https://here')).toContain('wss://here/v1/chat/completions');
});

test('images stand before the text', () => {
  const attachments = [
    { name: 'a.txt', text: 'A' },
    { name: 'b.png', text: '', image: 'data:image/png;base64,AA==' },
  ];
  const path = [message('q1', null, { attachments })];
  expect(toRequestBody(path, DEFAULT_SETTINGS, null).messages[0]?.content).toEqual([
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
    { type: 'text', text: 'a.txt:\n```\nA\n```\n\nq1' },
  ]);
});
