import { describe, expect, it, test, vi } from 'vitest';
import { ResumeKey } from '../../../src/server/resume/resume-key.ts';
import { errorOf, post } from '../support/client.ts';
import { orLong } from '../../support/long-runs.ts';
import { cutsOf, knownAfter, type SentEvent, streamOf } from '../support/resumed.ts';
import { says, tokensOf, useServers } from '../support/test-server.ts';
import { connect } from '../support/web-socket.ts';

const server = useServers();

const resumeKey = 'a secret of all replicas';
const CHAT = '/v1/chat/completions';
const TEXT = 'One two three STOP four. And it goes on for a while, until it ends.';
const chat = {
  messages: [{ role: 'user', content: 'Hi' }],
  stream: true,
  stream_options: { include_usage: true },
};

/** Content of a stream's events, whatever pieces they come in; usage once. */
function toldBy(events: readonly SentEvent[]): unknown {
  const choices: { text: string; finish?: unknown }[] = [];
  const heads = new Set<string>();
  let usage: unknown;
  for (const { data } of events) {
    if (data === '[DONE]') continue;
    const chunk = JSON.parse(data);
    heads.add(`${chunk.id} ${chunk.created} ${chunk.model}`);
    usage = chunk.usage ?? usage;
    for (const { index, delta, text, finish_reason: finish } of chunk.choices) {
      const choice = (choices[index] ??= { text: '' });
      choice.text += delta?.content ?? text ?? '';
      if (finish !== null) choice.finish = [...((choice.finish as string[]) ?? []), finish];
    }
  }
  return { choices, heads: [...heads], usage, last: events.at(-1)?.data };
}

describe.each([
  { name: 'a chat', path: CHAT, body: chat },
  { name: 'a chat with a stop string', path: CHAT, body: { ...chat, stop: ['four'] } },
  { name: 'several choices', path: CHAT, body: { ...chat, n: 3 } },
  { name: 'text', path: '/v1/completions', body: { prompt: 'Hi', stream: true, max_tokens: 20 } },
])('$name that is cut off', ({ path, body }) => {
  it.each([1, 3])('goes on after any event, %i tokens at a time', async (tokensPerBatch) => {
    const options = { resumeKey, script: says(TEXT), engine: { tokensPerBatch } };
    const first = await server(options);
    const second = await server(options);
    const whole = await streamOf(await post(first, path, body));
    const all = cutsOf(whole);
    expect(all.length).toBeGreaterThan(4);
    const step = orLong(Math.ceil(all.length / 20), 1);
    const cuts = all.filter((_, index) => index % step === 0);
    for (const cut of cuts) {
      const { resume, lastId = '' } = knownAfter(whole, cut);
      const headers = { 'last-event-id': lastId, 'x-resume-token': whole.token };
      const answers = [
        await post(second, path, { ...body, resume }),
        // Whoever knows no tokens has them generated again.
        await post(second, path, body, { headers }),
      ];
      for (const answer of answers) {
        const rest = await streamOf(answer);
        const together = [...whole.events.slice(0, cut), ...rest.events];
        expect(toldBy(together)).toEqual(toldBy(whole.events));
      }
    }
  });
});

test('the engine does not compute known tokens again, nor a complete answer', async () => {
  const target = await server({ resumeKey, script: says(TEXT) });
  const whole = await streamOf(await post(target, CHAT, chat));
  const half = knownAfter(whole, 20).resume;
  await streamOf(await post(target, CHAT, { ...chat, resume: half }));
  expect([...(target.engine.requests[1]?.outputTokenIds ?? [])]).toEqual(half.tokens[0]);
  const all = knownAfter(whole, whole.events.length).resume;
  const rest = await streamOf(await post(target, CHAT, { ...chat, resume: all }));
  expect(rest.events.at(-1)?.data).toBe('[DONE]');
  expect(target.engine.requests).toHaveLength(2);
});

test('a seed that the server drew is the same after the cut', async () => {
  const target = await server({ resumeKey, script: says(TEXT) });
  const whole = await streamOf(await post(target, CHAT, chat));
  await streamOf(await post(target, CHAT, { ...chat, resume: knownAfter(whole, 9).resume }));
  await streamOf(await post(target, CHAT, chat));
  const seeds = target.engine.requests.map(({ sampling }) => sampling.seed);
  expect(seeds[1]).toBe(seeds[0]);
  expect(seeds[2]).not.toBe(seeds[0]);
});

describe('a token', () => {
  async function begun() {
    const keys = { apiKeys: ['alice', 'bob'] };
    const target = await server({ resumeKey, script: says(TEXT), config: keys });
    const headers = { authorization: 'Bearer alice' };
    const whole = await streamOf(await post(target, CHAT, chat, { headers }));
    return { target, headers, resume: knownAfter(whole, 9).resume };
  }

  test.each([
    ['of another client', {}, { authorization: 'Bearer bob' }, CHAT, 400, 'is not valid here'],
    ['for another path', { prompt: 'Hi' }, {}, '/v1/completions', 400, 'is not valid here'],
    [
      'for another prompt',
      { messages: [{ role: 'user', content: 'Ho' }] },
      {},
      CHAT,
      409,
      'prompt',
    ],
    ['of more choices', { n: 2 }, {}, CHAT, 400, 'of 2 choices'],
  ])('%s is refused', async (_, change, more, path, status, message) => {
    const { target, headers, resume } = await begun();
    const body = { ...chat, ...change, resume };
    const response = await post(target, path, body, { headers: { ...headers, ...more } });
    expect((await errorOf(response, status)).message).toContain(message);
  });

  test.each([
    ['that is garbage', { token: 'AAAA' }, 'is not valid here'],
    ['that is too long', { token: 'A'.repeat(5000) }, 'resume.token'],
    ['with tokens beyond the vocabulary', { tokens: [[1e6]] }, 'choice 0'],
    ['with tokens that are none', { tokens: [[-1]] }, 'token ids'],
    [
      'with more tokens than the answer may have',
      { tokens: [tokensOf('x'.repeat(300))] },
      'choice 0',
    ],
    ['with a huge count', { counts: [1e15] }, 'choice 0'],
    ['with very many choices', { counts: Array.from({ length: 1000 }, () => 0) }, 'resume.counts'],
  ])('%s is refused', async (_, change, message) => {
    const { target, headers, resume } = await begun();
    const body = { ...chat, resume: { ...resume, ...change } };
    const { message: told } = await errorOf(await post(target, CHAT, body, { headers }), 400);
    expect(told).toContain(message);
  });

  test('of other replicas is refused', async () => {
    const { headers, resume } = await begun();
    const keys = { apiKeys: ['alice', 'bob'] };
    const stranger = await server({ resumeKey: 'some other secret', config: keys });
    const response = await post(stranger, CHAT, { ...chat, resume }, { headers });
    expect((await errorOf(response, 400)).message).toContain('is not valid here');
  });

  test('is refused once it is a day old', async () => {
    const { target, headers, resume } = await begun();
    const now = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(now + 25 * 3_600_000);
    const response = await post(target, CHAT, { ...chat, resume }, { headers });
    vi.restoreAllMocks();
    expect((await errorOf(response, 400)).message).toContain('too old');
  });
});

test('a server without a key has no ids, and says so to whoever wants to go on', async () => {
  const target = await server({ script: says(TEXT) });
  const whole = await streamOf(await post(target, CHAT, chat));
  expect(whole.token).toBe('');
  expect(whole.events.some(({ id }) => id !== undefined)).toBe(false);
  const resume = { token: 'AAAA', counts: [0] };
  const error = await errorOf(await post(target, CHAT, { ...chat, resume }), 400);
  expect(error.code).toBe('no_resume_key');
});

test('an event id that is none of ours is refused', async () => {
  const target = await server({ resumeKey });
  const headers = { 'last-event-id': '12x', 'x-resume-token': 'AAAA' };
  const response = await post(target, CHAT, chat, { headers });
  expect((await errorOf(response, 400)).message).toContain('Last-Event-ID');
});

test('what is sealed for one use opens for no other, and not when a bit of it is changed', () => {
  const key = new ResumeKey(resumeKey);
  const sealed = key.seal('resume', 'text');
  expect(key.open('resume', sealed)).toBe('text');
  expect(key.open('handover', sealed)).toBe(null);
  const bytes = Buffer.from(sealed, 'base64url');
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(key.open('resume', changed.toString('base64url'))).toBe(null);
  }
});

test('a WebSocket stream goes on over another server’s socket', async () => {
  const options = { resumeKey, script: says(TEXT) };
  const [first, second] = [await server(options), await server(options)];
  const socket = await connect(first, CHAT);
  socket.send({ ...chat, request_id: 'a' });
  const frames = await socket.answer('a');
  const toEvents = (list: typeof frames): SentEvent[] =>
    list
      .filter(({ type }) => type !== 'done')
      .map(({ event_id: id, ...frame }) => ({
        id: typeof id === 'string' ? id : undefined,
        data: JSON.stringify(frame),
      }));
  const whole = { token: String(frames[0]?.['resume_token']), events: toEvents(frames) };
  const cut = 11;
  const other = await connect(second, CHAT);
  other.send({ ...chat, request_id: 'b', resume: knownAfter(whole, cut).resume });
  const rest = toEvents(await other.answer('b'));
  const together = [...whole.events.slice(0, cut), ...rest];
  expect(toldBy(together)).toMatchObject({ choices: [{ text: TEXT, finish: ['stop'] }] });
});
