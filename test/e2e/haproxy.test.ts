/** Replicas behind HAProxy, with the configuration in deploy/haproxy. */
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { resumableStream } from '../../src/client/resumable-stream.ts';
import { post, stream } from '../support/http-client.ts';
import { HAPROXY, needs } from '../support/needs.ts';
import { until } from '../support/processes.ts';
import { HAPROXY_CONFIG, type ReplicaName, Replicas } from '../support/replicas.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const story = (topic: string, maxTokens: number) => ({
  messages: [{ role: 'user', content: `Tell me a story about ${topic}.` }],
  temperature: 0,
  max_tokens: maxTokens,
  ignore_eos: true,
});
const TOPICS = ['a fox', 'a lamp', 'rain', 'two friends', 'a boat', 'bread', 'a hill', 'snow'];

describe('HAProxy', needs(HAPROXY), () => {
  let replicas: Replicas;
  let cache: Awaited<ReturnType<typeof temporaryCache>>;
  let chat: string;

  beforeAll(async () => {
    cache = await temporaryCache();
    replicas = await Replicas.start(['one', 'two'], {
      args: ['--drain-delay=8', '--drain-status=404', '--resume-key=of-all-the-replicas'],
      env: cache.env,
    });
    chat = `${replicas.url}/v1/chat/completions`;
  });
  afterAll(async () => {
    await replicas?.stop();
    await cache?.remove();
  });

  /** Where a request went. */
  async function servedBy(body: object, headers: Record<string, string> = {}): Promise<string> {
    const response = await fetch(chat, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    await response.text();
    expect(response.status).toBe(200);
    return response.headers.get('x-served-by') ?? '';
  }

  it('finds nothing wrong with the configuration', () => {
    const env = { ...process.env, CHAIRLIFT_ADMIN: '/tmp/chairlift-never-bound.sock' };
    const checked = execFileSync('haproxy', ['-c', '-f', HAPROXY_CONFIG], { env, stdio: 'pipe' });
    expect(checked.toString()).toContain('Configuration file is valid');
  });

  it('passes each token on when it comes', async () => {
    const times: number[] = [];
    await stream(chat, story('a river', 1000), () => times.push(performance.now()));
    const chunks = new Set(times.map((at) => Math.round(at)));
    // Buffered, they would come in a few chunks.
    expect(chunks.size).toBeGreaterThan(30);
  });

  it('takes WebSockets through', async () => {
    const socket = new WebSocket(chat.replace('http', 'ws'));
    const types: string[] = [];
    await new Promise((resolve, reject) => {
      socket.on('error', reject);
      socket.on('open', () =>
        socket.send(JSON.stringify({ request_id: 'a', ...story('ice', 10), stream: true })),
      );
      socket.on('message', (data: Buffer) => {
        const { type } = JSON.parse(data.toString()) as { type: string };
        types.push(type);
        if (type === 'done' || type === 'error') resolve(undefined);
      });
    });
    socket.close();
    expect(types.at(-1)).toBe('done');
  });

  it('sends what begins alike to one replica, by each of the keys', async () => {
    const system = { role: 'system', content: 'You are brief.' };
    type Asked = readonly [body: object, headers?: Record<string, string>];
    const other = () => story(String(Math.random()), 1);
    const asked: Record<string, (key: string) => Asked> = {
      'first message': (key) => [story(key, 1)],
      'system prompt and question': (key) => {
        const { messages, ...rest } = story(key, 1);
        return [{ ...rest, messages: [system, ...messages] }];
      },
      prompt_cache_key: (key) => [{ ...other(), prompt_cache_key: key }],
      'x-session-id': (key) => [other(), { 'x-session-id': key }],
    };
    for (const [name, make] of Object.entries(asked)) {
      const places = new Set<string>();
      for (const topic of TOPICS) {
        const both = [await servedBy(...make(topic)), await servedBy(...make(topic))];
        expect(both[0], name).toBe(both[1]);
        places.add(both[0] ?? '');
      }
      expect([...places].sort(), name).toEqual(['one', 'two']);
    }
  });

  it('does not show metrics of whichever replica, and says whether it can answer', async () => {
    expect((await fetch(`${replicas.url}/metrics`)).status).toBe(404);
    expect((await post(`${replicas.url}/internal/v1/resume`, {})).status).toBe(404);
    expect((await fetch(`${replicas.url}/balancer`)).status).toBe(200);
  });

  it('drains one replica and loses another under load, and adds one: only cut streams end', async () => {
    const bodies = TOPICS.map((topic) => story(topic, 60));
    const alone = await Promise.all(bodies.map((body) => stream(chat, body)));
    expect(alone.every(({ done }) => done)).toBe(true);

    const over = new AbortController();
    const outcomes: { readonly index: number; readonly text: string; readonly isWhole: boolean }[] =
      [];
    const errors: unknown[] = [];
    const clients = bodies.map(async (body, index) => {
      while (!over.signal.aborted) {
        // Every other client has its streams resumed.
        const send = index % 2 === 0 ? fetch : resumableStream();
        const result = await stream(chat, body, () => {}, send).catch((error: unknown) => {
          errors.push(error);
          return null;
        });
        if (result) outcomes.push({ index, text: result.text, isWhole: result.done });
      }
    });
    const during = async (change: Promise<unknown>) => {
      const before = outcomes.length;
      await change;
      await until(() => outcomes.length > before + 8, 'eight more answers');
    };

    await during(replicas.add('three'));
    // Its streams end whole, and nothing new is refused.
    const drained = replicas.drain('one');
    const isLeaving = async () => (await replicas.status('one')).startsWith('NOLB');
    await until(isLeaving, 'HAProxy sees that the replica drains');
    await during(drained.then((code) => expect(code).toBe(0)));
    expect(errors).toEqual([]);
    expect(outcomes.filter(({ isWhole }) => !isWhole)).toEqual([]);

    const whole = outcomes.length;
    await during(replicas.kill('two'));
    over.abort();
    await Promise.all(clients);
    // Those whose answer had begun are cut, at most one of each client, and never one that resumes.
    const cut = outcomes.slice(whole).filter(({ isWhole }) => !isWhole).length + errors.length;
    expect(cut).toBeLessThanOrEqual(bodies.length / 2);
    expect(outcomes.filter(({ index, isWhole }) => index % 2 === 1 && !isWhole)).toEqual([]);
    const changed = outcomes.filter(
      ({ index, text, isWhole }) => isWhole && text !== alone[index]?.text,
    );
    expect(changed).toEqual([]);
    const left: ReplicaName[] = ['three'];
    expect([...replicas.running.keys()]).toEqual(left);
    await sleep(100);
    expect((await post(chat, story('the end', 2))).headers.get('x-served-by')).toBe('three');
  });
});
