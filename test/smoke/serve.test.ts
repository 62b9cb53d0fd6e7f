import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metric, post, stream } from '../support/http-client.ts';
import { orLong } from '../support/long-runs.ts';
import { until } from '../support/processes.ts';
import { engineOf, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const question = { messages: [{ role: 'user', content: 'What is 23 + 45?' }], temperature: 0 };
const story = (topic: string) => ({
  messages: [{ role: 'user', content: `Tell me a story about ${topic}.` }],
  temperature: 0,
  max_tokens: 200,
  ignore_eos: true,
});

describe('a server', () => {
  let server: ServerProcess;
  let chat: string;

  beforeAll(async () => {
    server = await startServer([], cache.env);
    chat = `${server.url}/v1/chat/completions`;
  });
  afterAll(async () => {
    await server.stop();
  });

  it('says what it serves, and how to talk to it', () => {
    expect(server.output()).toContain('summit (llama, 5.5M parameters)');
    expect(server.output()).toContain(`curl -N ${chat}`);
  });

  it('streams an answer that is right', async () => {
    const { text, finishReason, done } = await stream(chat, question);
    expect(text).toContain('68');
    expect({ finishReason, done }).toEqual({ finishReason: 'stop', done: true });
  });

  it('answers a long conversation, whose prompt is made in a thread', async () => {
    const turns = Array.from({ length: 60 }, () => [
      { role: 'user', content: 'What is 2 + 3?' },
      { role: 'assistant', content: '2 + 3 is 5.' },
    ]);
    const messages = [...turns.flat(), ...question.messages];
    const { finishReason } = await stream(chat, { ...question, messages, max_tokens: 4 });
    expect(finishReason).toBe('length');
  });

  it('gives 32 requests at once the text each gets alone, cancelled ones beside them', async () => {
    const topics = ['a fox', 'a lamp', 'rain', 'two friends', 'a boat', 'bread', 'a hill', 'snow'];
    const bodies = Array.from({ length: 32 }, (_, index) => ({
      ...story(topics[index % topics.length] ?? ''),
      max_tokens: 5 + ((index * 7) % 60),
    }));
    const alone = new Map<string, string>();
    for (const body of bodies) {
      const key = JSON.stringify(body);
      if (!alone.has(key)) alone.set(key, (await stream(chat, body)).text);
    }
    const together = bodies.map(async (body, index) => {
      await sleep(index * 15);
      if (index % 4 === 3) {
        const leaving = post(chat, { ...story('haste'), stream: true }, AbortSignal.timeout(60));
        await leaving.then((response) => response.text()).catch(() => {});
      }
      return stream(chat, body);
    });
    for (const [index, { text, done }] of (await Promise.all(together)).entries()) {
      expect(done).toBe(true);
      expect(text).toBe(alone.get(JSON.stringify(bodies[index])));
    }
  });

  it('forgets 200 dropped streams soon, and answers the next at once', async () => {
    const dropped = Array.from({ length: 200 }, async () => {
      const body = { ...story('a storm'), max_tokens: 1500, stream: true };
      const response = await post(chat, body, AbortSignal.timeout(500)).catch(() => null);
      await response?.text().catch(() => {});
    });
    await Promise.all(dropped);
    const idle = async () =>
      (await metric(server.url, 'chairlift_num_requests_running')) === 0 &&
      (await metric(server.url, 'chairlift_num_requests_waiting')) === 0;
    await until(idle, 'running and waiting at 0', 20_000);
    expect((await stream(chat, question)).text).toContain('68');
  });

  it('goes on with every stream when the engine is killed', async () => {
    const bodies = Array.from({ length: 8 }, (_, index) => ({
      ...story(`number ${index}`),
      ...(index % 2 === 1 ? { temperature: 0.9, seed: index } : {}),
      max_tokens: orLong(120, 300),
    }));
    const undisturbed = await Promise.all(bodies.map((body) => stream(chat, body)));
    const before = engineOf(server);
    let pieces = 0;
    const disturbed = bodies.map((body) =>
      stream(chat, body, () => {
        if (++pieces === 80) process.kill(before, 'SIGKILL');
      }),
    );
    expect(await Promise.all(disturbed)).toEqual(undisturbed);
    expect(engineOf(server)).not.toBe(before);
    expect(server.output()).toContain('SIGKILL');
  });
});
