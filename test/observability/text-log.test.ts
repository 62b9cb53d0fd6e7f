import { expect, test } from 'vitest';
import { textLogLine } from '../../src/observability/text-log.ts';

const head = { level: 'info', time: '2026-11-22T15:04:05.123Z' };
const text = (fields: object, hasColors = false) =>
  textLogLine(`${JSON.stringify({ ...head, ...fields })}\n`, hasColors);

test('a request is a sentence: what, how long, of which model, where the time went', () => {
  expect(
    text({
      msg: 'request',
      requestId: 'id-1',
      method: 'POST',
      path: '/v1/completions',
      client: 'alice',
      status: 200,
      durationMs: 412.345,
      model: 'summit',
      tokens: { prompt: 12, cached: 8, output: 16 },
      finishReason: 'stop',
      stagesMs: { queue: 0.1234, decode: 390.5 },
    }),
  ).toBe(
    '15:04:05.123 INFO  POST /v1/completions 200, 412 ms: summit, 12 (8 cached) + 16 tokens, stop ' +
      '(queue 0.12, decode 391)  requestId=id-1  client=alice\n',
  );
  expect(text({ msg: 'request', method: '/inference.X/ModelInfer', code: 0, durationMs: 3 })).toBe(
    '15:04:05.123 INFO  /inference.X/ModelInfer 0, 3.0 ms\n',
  );
});

test('other lines have their fields, and errors their stacks', () => {
  expect(text({ msg: 'the engine process died', model: 'summit', unfinished: 3 })).toBe(
    '15:04:05.123 INFO  the engine process died  model=summit  unfinished=3\n',
  );
  const err = { type: 'Error', message: 'no', stack: 'Error: no\n    at x.ts:1:1' };
  expect(text({ level: 'error', msg: 'request failed', err })).toBe(
    '15:04:05.123 ERROR request failed\nError: no\n    at x.ts:1:1\n',
  );
});

test('what a client sends cannot look like another line, or colour the terminal', () => {
  const line = text({
    msg: 'request',
    method: 'GET',
    path: '/\n15:04 INFO \u001b[31m',
    status: 404,
    durationMs: 1,
  });
  expect(line.split('\n')).toHaveLength(2);
  expect(line).not.toContain('\u001b');
});

test('levels have colours where there is a terminal', () => {
  expect(text({ level: 'warn', msg: 'x' }, true)).toContain('\u001b[33mWARN \u001b[0m');
});

test('what is no line of the log is given back as it is', () => {
  expect(textLogLine('not JSON\n', true)).toBe('not JSON\n');
});
