import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { answerOf, chunksOf, post } from './support/client.ts';
import { namedEventsOf } from './support/named-events.ts';
import { says, useServers } from './support/test-server.ts';
import { HERMES, THINK } from '../support/chat-formats.ts';

const server = useServers();
const CHAT = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Hi' }];
const chatFormat = { toolCalls: HERMES, reasoning: THINK };
/** A token is a character here: those between the tags are the thought. */
const thought = '\nWhat now?\n';
const text = `<think>${thought}</think>\n\nHello!`;
const details = { reasoning_tokens: thought.length };

const response = z.looseObject({
  usage: z.looseObject({
    output_tokens: z.number(),
    output_tokens_details: z.looseObject({ reasoning_tokens: z.number() }),
  }),
});

describe.each([1, 7, 1000])('reasoning tokens are counted, with %i tokens at once', (size) => {
  const options = { script: says(text), chatFormat, engine: { tokensPerBatch: size } };

  test('in chat completions', async () => {
    const { usage } = await answerOf(await post(await server(options), CHAT, { messages }));
    expect(usage).toMatchObject({
      completion_tokens: text.length + 1,
      completion_tokens_details: details,
    });
  });

  test('in streamed chat completions, never more than are known', async () => {
    const stream_options = { include_usage: true, continuous_usage_stats: true };
    const body = { messages, stream: true, stream_options };
    const chunks = await chunksOf(await post(await server(options), CHAT, body));
    expect(chunks.at(-1)?.usage).toMatchObject({ completion_tokens_details: details });
    const counts = chunks.map(
      ({ usage }) => usage?.completion_tokens_details?.reasoning_tokens ?? 0,
    );
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  });

  test('over all choices', async () => {
    const body = { messages, n: 3 };
    const { usage } = await answerOf(await post(await server(options), CHAT, body));
    expect(usage).toMatchObject({
      completion_tokens_details: { reasoning_tokens: 3 * thought.length },
    });
  });

  test('in responses', async () => {
    const answer = await post(await server(options), '/v1/responses', { input: 'Hi' });
    expect(response.parse(await answer.json()).usage).toMatchObject({
      output_tokens: text.length + 1,
      output_tokens_details: details,
    });
  });

  test('in streamed responses', async () => {
    const body = { input: 'Hi', stream: true };
    const events = await namedEventsOf(await post(await server(options), '/v1/responses', body));
    const last = response.parse(events.at(-1)?.['response']);
    expect(last.usage.output_tokens_details).toEqual(details);
  });
});

describe('reasoning tokens', () => {
  test('of a thought that is cut short are all that came', async () => {
    const target = await server({ script: says(text), chatFormat });
    const body = { messages, max_tokens: '<think>\nWhat'.length };
    const { usage } = await answerOf(await post(target, CHAT, body));
    expect(usage).toMatchObject({ completion_tokens_details: { reasoning_tokens: 5 } });
  });

  test('are counted while stop strings hold the text back', async () => {
    const target = await server({ script: says(text), chatFormat });
    const body = { messages, stop: ['What is', 'Hello?'] };
    const { usage } = await answerOf(await post(target, CHAT, body));
    expect(usage).toMatchObject({ completion_tokens_details: details });
  });

  test('are 0 where a model that thinks did not', async () => {
    const target = await server({ script: says('Hello!'), chatFormat });
    const { usage } = await answerOf(await post(target, CHAT, { messages }));
    expect(usage).toMatchObject({ completion_tokens_details: { reasoning_tokens: 0 } });
  });

  test('are not told of a model without thoughts', async () => {
    const target = await server({ script: says(text) });
    const { usage } = await answerOf(await post(target, CHAT, { messages }));
    expect(usage).not.toHaveProperty('completion_tokens_details');
  });
});
