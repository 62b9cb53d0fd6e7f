/** The way of an answer, to a sink that only notes what it gets. */
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import type { PreparedAnswer } from '../../../src/server/answers/prepared-answer.ts';
import type { Caller } from '../../../src/front/caller.ts';
import { acquireModel } from '../../../src/server/model-access.ts';
import { type AnswerSink, runAnswer } from '../../../src/server/answers/run-answer.ts';
import type { ServerContext } from '../../../src/server/context.ts';
import { toJson } from '../../../src/server/http/written-json.ts';
import { prepareCompletion } from '../../../src/server/openai/completions.ts';
import type { MovableAnswer } from '../../../src/server/resume/movable-answer.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();
const caller = { client: '', signal: new AbortController().signal };

function notingSink() {
  const noted: string[] = [];
  const sink: AnswerSink<string> = {
    silenceMs: null,
    async stream(events) {
      for await (const batch of events) for (const event of batch) noted.push(toJson(event));
      return 'streamed';
    },
    whole: async (answer) => (noted.push(JSON.stringify(answer)), 'whole'),
    relay: async () => 'relayed',
  };
  return { noted, sink };
}

function run(context: ServerContext, fields: object, movable: MovableAnswer | null = null) {
  const json = { prompt: 'Hi', max_tokens: 2, ...fields };
  const { noted, sink } = notingSink();
  const asked = { json, caller, movable, streams: 'stream' in fields, prepare: prepareCompletion };
  return { noted, out: runAnswer(context, asked, sink) };
}

it('gives a sink events, or one object, and returns what the sink makes of them', async () => {
  const { context } = await server();
  const whole = run(context, {});
  expect(await whole.out).toBe('whole');
  expect(whole.noted).toHaveLength(1);
  const streamed = run(context, { stream: true });
  expect(await streamed.out).toBe('streamed');
  expect(streamed.noted.length).toBeGreaterThan(1);
});

it('has a sink relay what another server answers while this one leaves', async () => {
  const target = await server();
  target.startDraining();
  const elsewhere = { json: {}, caller, forward: async () => ({}) as IncomingMessage };
  const { out } = run(target.context, {}, elsewhere as unknown as MovableAnswer);
  expect(await out).toBe('relayed');
  await expect(run(target.context, {}).out).rejects.toMatchObject({ name: 'ShuttingDownError' });
});

it('lets its model go when it cannot be prepared', async () => {
  const { context } = await server();
  const prepare = async (): Promise<PreparedAnswer> => Promise.reject(new Error('no'));
  const asked = { json: {}, caller, movable: null, streams: false, prepare };
  let isReleased = false;
  const acquire = async (asker: Caller) => {
    const { model } = await acquireModel(context, {}, asker);
    return { model, release: () => void (isReleased = true) };
  };
  await expect(runAnswer(context, { ...asked, acquire }, notingSink().sink)).rejects.toThrow('no');
  expect(isReleased).toBe(true);
});
