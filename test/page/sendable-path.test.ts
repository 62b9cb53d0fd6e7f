import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../../web/src/views/chat/model/types.ts';
import { toRequestBody } from '../../web/src/views/chat/request/request-body.ts';
import { message } from './messages.ts';

const CALL = { id: 'c1', name: 'f', arguments: '{}' };

function sent(...path: ReturnType<typeof message>[]) {
  const { messages } = toRequestBody(path, DEFAULT_SETTINGS, null);
  return messages.map(({ role, content, tool_calls: calls }) =>
    calls === undefined
      ? `${role}: ${typeof content === 'string' ? content : ''}`
      : `${role} calls`,
  );
}

test('an answer that failed is not sent, whatever there was of it', () => {
  const next = message('q2', 'a1');
  for (const content of ['', 'Half of']) {
    const failed = message('a1', 'q1', { state: 'failed', content });
    expect(sent(message('q1', null), failed, next)).toEqual(['user: q1\n\nq2']);
  }
});

test('an answer that was stopped before its first token is not sent; one with text is', () => {
  const stopped = (content: string) => message('a1', 'q1', { state: 'stopped', content });
  const next = message('q2', 'a1');
  expect(sent(message('q1', null), stopped(''), next)).toEqual(['user: q1\n\nq2']);
  expect(sent(message('q1', null), stopped('Half of'), next)).toEqual([
    'user: q1',
    'assistant: Half of',
    'user: q2',
  ]);
});

test('calls without results are not sent, and neither are results without calls', () => {
  const calls = message('a1', 'q1', { content: '', toolCalls: [CALL] });
  const text = message('a1', 'q1', { content: 'Let me see.', toolCalls: [CALL] });
  const result = message('t1', 'a1', { role: 'tool', content: '7', toolCallId: 'c1' });
  const question = message('q1', null);
  expect(sent(question, calls, message('q2', 'a1'))).toEqual(['user: q1\n\nq2']);
  expect(sent(question, text, message('q2', 'a1'))).toEqual([
    'user: q1',
    'assistant: Let me see.',
    'user: q2',
  ]);
  expect(sent(question, calls, result)).toEqual(['user: q1', 'assistant calls', 'tool: 7']);
  expect(sent(question, result)).toEqual(['user: q1']);
});

test('one of two calls with a result: neither call is sent, nor the result', () => {
  const calls = message('a1', 'q1', { content: '', toolCalls: [CALL, { ...CALL, id: 'c2' }] });
  const result = message('t1', 'a1', { role: 'tool', content: '7', toolCallId: 'c1' });
  expect(sent(message('q1', null), calls, result)).toEqual(['user: q1']);
});

test('attachments of questions that are joined go along', () => {
  const first = message('q1', null, { attachments: [{ name: 'a.txt', text: 'A' }] });
  const [only] = sent(first, message('a1', 'q1', { state: 'failed' }), message('q2', 'a1'));
  expect(only).toBe('user: a.txt:\n```\nA\n```\n\nq1\n\nq2');
});
