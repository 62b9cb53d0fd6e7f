import { expect, test } from 'vitest';
import { z } from 'zod';
import { post } from '../support/client.ts';
import { namedEventsOf } from '../support/named-events.ts';
import { says, useServers } from '../support/test-server.ts';
import { HERMES, THINK } from '../../support/chat-formats.ts';

const server = useServers();
const chatFormat = { toolCalls: HERMES, reasoning: THINK };
const body = { input: 'Hi', include: ['message.output_text.logprobs'] };

const response = z.looseObject({
  output: z.array(
    z.looseObject({
      type: z.string(),
      content: z.array(
        z.looseObject({
          text: z.string(),
          logprobs: z.array(z.looseObject({ token: z.string() })).optional(),
        }),
      ),
    }),
  ),
});

function tokensOf({ output }: z.infer<typeof response>): string[] {
  return output.map(({ content: [part] }) =>
    (part?.logprobs ?? []).map(({ token }) => token).join(''),
  );
}

test('a message has the log-probabilities of its tokens', async () => {
  const answer = await post(await server({ script: says('Hello!') }), '/v1/responses', body);
  expect(tokensOf(response.parse(await answer.json()))).toEqual(['Hello!']);
});

test('a token whose text is held back by a stop string has its own at once', async () => {
  const target = await server({ script: says('Hello!') });
  const streamed = { ...body, stop: ['lot'], stream: true };
  const events = await namedEventsOf(await post(target, '/v1/responses', streamed));
  const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
  const held = deltas.filter(({ delta }) => delta === '');
  expect(held.map(({ logprobs }) => logprobs)).toMatchObject([[{ token: 'l' }], [{ token: 'o' }]]);
});

test('those of a thought open no messages beside it', async () => {
  const target = await server({ script: says('<think>Hm, well.</think>Hello!'), chatFormat });
  const answer = response.parse(await (await post(target, '/v1/responses', body)).json());
  expect(answer.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
  expect(tokensOf(answer)[1]).toMatch(/Hello!$/);
  expect(tokensOf(answer)[1]).not.toContain('well');
});
