/** deploy/compose, really run: three replicas, HAProxy, Redis and Prometheus, with stand-ins of their images. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { post, stream } from '../support/http-client.ts';
import { needs } from '../support/needs.ts';
import { until } from '../support/processes.ts';
import { Compose, whyNoCompose } from './support/compose.ts';

const REPLICAS = ['one', 'two', 'three'];
const CHAT = 'http://127.0.0.1:8080/v1/chat/completions';
const question = { messages: [{ role: 'user', content: 'What is 23 + 45?' }], temperature: 0 };

const reason = whyNoCompose();
const CONTAINERS = { name: `containers with a network: ${reason}`, isThere: reason === null };

/** Replicas to which HAProxy sends all that is theirs; one that has just come up gets a part at first. */
async function up(): Promise<string[]> {
  const page = await fetch('http://127.0.0.1:8404/;csv').then(
    (answer) => answer.text(),
    () => '',
  );
  const [names = [], ...rows] = page.split('\n').map((line) => line.split(','));
  const value = (row: readonly string[], name: string) => row[names.indexOf(name)];
  return rows
    .filter((row) => value(row, '# pxname') === 'replicas_by_prefix')
    .filter((row) => value(row, 'status') === 'UP' && value(row, 'throttle') === '')
    .flatMap((row) => value(row, 'svname') ?? [])
    .filter((server) => REPLICAS.includes(server));
}

const samples = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.object({ instance: z.string() }),
        value: z.tuple([z.number(), z.string()]),
      }),
    ),
  }),
});

/** Values that Prometheus has of a metric, by target. */
async function scraped(metric: string): Promise<Record<string, string>> {
  const answer = await fetch(`http://127.0.0.1:9090/api/v1/query?query=${metric}`);
  const { data } = samples.parse(await answer.json());
  return Object.fromEntries(data.result.map(({ metric: of, value }) => [of.instance, value[1]]));
}

describe('compose.yaml', needs(CONTAINERS), () => {
  const compose = new Compose();

  beforeAll(async () => {
    await compose.remove();
    await compose.up();
    await until(async () => (await up()).length === 3, 'three replicas').catch((error: unknown) => {
      throw new Error(`${String(error)}\n${compose.logs(['haproxy', ...REPLICAS])}`);
    });
  });
  afterAll(() => compose.remove());

  it('answers through HAProxy, which keeps what is for replicas and operators alone', async () => {
    const answer = await stream(CHAT, question);
    expect(answer).toMatchObject({ done: true, text: '23 + 45 = 68.' });
    for (const path of ['/metrics', '/internal/v1/resume']) {
      expect((await fetch(`http://127.0.0.1:8080${path}`)).status).toBe(404);
    }
  });

  it('shares one Redis, and is watched by Prometheus', async () => {
    const replicas = REPLICAS.map((name) => [`${name}:9000`, '1']);
    await expect.poll(() => scraped('chairlift_redis_up')).toEqual(Object.fromEntries(replicas));
    await expect
      .poll(() => scraped('up'))
      .toEqual(Object.fromEntries([...replicas, ['haproxy:8404', '1']]));
  });

  it('gives each replica its share of the machine, and Grafana its dashboards', async () => {
    for (const name of REPLICAS) {
      expect(await compose.limitsOf(name)).toEqual({ memory: 2 * 2 ** 30, cpus: 1 });
    }
    const files = z.array(z.string()).parse(await (await fetch('http://127.0.0.1:3000')).json());
    expect(files).toEqual(
      expect.arrayContaining([
        '/etc/grafana/provisioning/datasources/chairlift.yaml',
        '/etc/grafana/provisioning/dashboards/chairlift.yaml',
        '/var/lib/grafana/dashboards/overview.json',
      ]),
    );
  });

  it('drains a replica that stops, and finds it when it is back at another address', async () => {
    const story = {
      messages: [{ role: 'user', content: 'A story.' }],
      temperature: 0,
      prompt_cache_key: 'story',
    };
    const first = await post(CHAT, { ...story, max_tokens: 1 });
    const server = first.headers.get('x-served-by') ?? '';
    expect(REPLICAS).toContain(server);
    const address = await compose.addressOf(server);
    let isUnderWay = false;
    const long = { ...story, max_tokens: 1500, ignore_eos: true };
    const running = stream(CHAT, long, () => (isUnderWay = true));
    await until(() => isUnderWay, 'the first piece');
    const stopped = compose.stop(server);
    await until(async () => !(await up()).includes(server), 'the drain');
    for (let index = 0; index < 8; index++) {
      expect((await post(CHAT, { ...story, max_tokens: 1 })).status).toBe(200);
    }
    expect(await running).toMatchObject({ done: true, finishReason: 'length' });
    await stopped;
    await compose.start(server);
    expect(await compose.addressOf(server)).not.toBe(address);
    await until(async () => (await up()).includes(server), 'its return');
    const again = await post(CHAT, { ...story, max_tokens: 1 });
    expect(again.headers.get('x-served-by')).toBe(server);
  });
});
