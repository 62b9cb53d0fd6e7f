/** Messages and responses that are cut off, and gone on with by another server. */
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { errorOf, post } from '../support/client.ts';
import { cutsOf, knownAfter, type SentEvent, streamOf } from '../support/resumed.ts';
import { says, useServers } from '../support/test-server.ts';
import { HERMES, THINK } from '../../support/chat-formats.ts';

const server = useServers();
const responseObject = z.looseObject({ id: z.string() });

const resumeKey = 'a secret of all replicas';
const chatFormat = { toolCalls: HERMES, reasoning: THINK };
const CALL = '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>';
const TEXT = `<think>Let me see.</think>So:${CALL}`;
const parameters = { type: 'object', properties: { x: { type: 'integer' } } };

const message = {
  messages: [{ role: 'user', content: 'Hi' }],
  max_tokens: 150,
  stream: true,
  tools: [{ name: 'f', input_schema: parameters }],
};
const response = {
  input: 'Hi',
  stream: true,
  tools: [{ type: 'function', name: 'f', parameters }],
};

/** Events as told, but for the time. */
function toldBy(events: readonly SentEvent[]): unknown[] {
  return events.map(({ id, data }) => ({
    id,
    data: data.replaceAll(/"completed_at":\d+/g, '"completed_at":0'),
  }));
}

describe.each([
  { name: 'a message', path: '/v1/messages', body: message },
  {
    name: 'a message that is cut short',
    path: '/v1/messages',
    body: { ...message, max_tokens: 12 },
  },
  { name: 'a response', path: '/v1/responses', body: response },
  {
    name: 'a response that is cut short',
    path: '/v1/responses',
    body: { ...response, max_output_tokens: 12 },
  },
])('$name that is cut off', ({ path, body }) => {
  it.each([1, 3])('goes on after each event, %i tokens at a time', async (tokensPerBatch) => {
    const options = {
      resumeKey,
      chatFormat,
      script: says(TEXT),
      maxModelLen: 2000,
      engine: { tokensPerBatch },
    };
    const first = await server(options);
    const second = await server(options);
    const whole = await streamOf(await post(first, path, body));
    const cuts = [0, ...cutsOf(whole)];
    expect(cuts.length).toBeGreaterThan(3);
    // Whoever has the last event has all.
    for (const cut of cuts.slice(0, -1)) {
      const { resume, lastId } = knownAfter(whole, cut);
      const answers = [await post(second, path, { ...body, resume })];
      if (lastId !== undefined) {
        // Whoever knows no tokens has them generated again.
        const headers = { 'last-event-id': lastId, 'x-resume-token': whole.token };
        answers.push(await post(second, path, body, { headers }));
      }
      for (const answer of answers) {
        const rest = await streamOf(answer);
        const together = [...whole.events.slice(0, cut), ...rest.events];
        expect(toldBy(together)).toEqual(toldBy(whole.events));
      }
    }
  });
});

test('a response that goes on is stored where it does, under the same id', async () => {
  const options = { resumeKey, script: says('Hello there!') };
  const [first, second] = [await server(options), await server(options)];
  const body = { input: 'Hi', stream: true };
  const whole = await streamOf(await post(first, '/v1/responses', body));
  const { resume } = knownAfter(whole, 8);
  await streamOf(await post(second, '/v1/responses', { ...body, resume }));
  const { response: told } = JSON.parse(whole.events.at(-1)?.data ?? '');
  const stored = responseObject.parse(
    await (await fetch(`${second.url}/v1/responses/${told.id}`)).json(),
  );
  expect(stored).toEqual({ ...told, completed_at: stored['completed_at'] });
  const next = await post(second, '/v1/responses', {
    input: 'Go on',
    previous_response_id: told.id,
  });
  expect(next.status).toBe(200);
});

test('a response to a conversation that the other server does not have says so', async () => {
  const options = { resumeKey, script: says('Hello there!') };
  const [first, second] = [await server(options), await server(options)];
  const begun = responseObject.parse(
    await (await post(first, '/v1/responses', { input: 'Hi' })).json(),
  );
  const body = { input: 'Go on', stream: true, previous_response_id: begun.id };
  const whole = await streamOf(await post(first, '/v1/responses', body));
  const { resume } = knownAfter(whole, 8);
  const refused = await post(second, '/v1/responses', { ...body, resume });
  expect((await errorOf(refused, 400)).code).toBe('previous_response_not_found');
});

test('a token of one API is not one of another', async () => {
  const target = await server({ resumeKey, script: says('Hello there!'), maxModelLen: 2000 });
  const { token } = await streamOf(await post(target, '/v1/messages', message));
  const resume = { token, counts: [1], tokens: [[1]] };
  const refused = await post(target, '/v1/responses', { ...response, resume });
  expect((await errorOf(refused, 400)).message).toContain('is not valid here');
});
