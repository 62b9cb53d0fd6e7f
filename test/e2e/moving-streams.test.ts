import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import OpenAI from 'openai';
import { afterAll, describe, expect, it } from 'vitest';
import { resumableStream } from '../../src/client/resumable-stream.ts';
import { childrenOf, killNow } from '../support/processes.ts';
import { needs, REDIS } from '../support/needs.ts';
import { RedisServer } from '../support/redis-server.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
const KEY = 'a secret of all replicas';
const servers: ServerProcess[] = [];

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await cache.remove();
});

/** A replica on a port that the others can be told of. */
async function startReplica(...flags: string[]): Promise<ServerProcess> {
  const server = await startServer(['--resume-key', KEY, ...flags], cache.env);
  servers.push(server);
  return server;
}

/** Kills a server and its engine, as a machine does that is switched off. */
function killAll({ child }: ServerProcess): boolean {
  const engines = childrenOf(child.pid);
  const isKilled = child.kill('SIGKILL');
  for (const engine of engines) killNow(engine);
  return isKilled;
}

/** Does as a load balancer does: the first replica that can be reached. */
function balanced(...replicas: ServerProcess[]): typeof fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    for (const replica of replicas) {
      try {
        const target = new URL(url.pathname, replica.url);
        return await fetch(target, init);
      } catch {
        // Gone: the next one.
      }
    }
    throw new Error('no replica is there');
  };
}

const NUM_NUMBERS = 80;
const NUMBERS = {
  type: 'array',
  items: { type: 'integer', minimum: 0, maximum: 999 },
  minItems: NUM_NUMBERS,
  maxItems: NUM_NUMBERS,
};

const stories = Array.from({ length: 16 }, (_, index) => ({
  messages: [{ role: 'user' as const, content: `Tell me a story about the number ${index}.` }],
  max_tokens: 480,
  ignore_eos: true,
  // Some have no seed: theirs is in the token.
  ...(index % 2 === 0 ? { temperature: 0 } : { temperature: 0.9, seed: index }),
}));

function clientOf(fetch: typeof globalThis.fetch): OpenAI {
  return new OpenAI({ baseURL: 'http://replicas/v1', apiKey: 'none', fetch, maxRetries: 0 });
}

interface Told {
  readonly text: string;
  readonly ids: ReadonlySet<string>;
  readonly finishReasons: readonly string[];
  readonly usage: OpenAI.CompletionUsage | null;
}

async function tell(
  client: OpenAI,
  story: (typeof stories)[number],
  onText: () => void = () => {},
): Promise<Told> {
  const stream = await client.chat.completions.create({
    model: 'summit',
    stream: true,
    stream_options: { include_usage: true },
    ...story,
  });
  let text = '';
  let usage: OpenAI.CompletionUsage | null = null;
  const ids = new Set<string>();
  const finishReasons: string[] = [];
  for await (const chunk of stream) {
    ids.add(chunk.id);
    usage = chunk.usage ?? usage;
    const [choice] = chunk.choices;
    if (choice?.finish_reason) finishReasons.push(choice.finish_reason);
    const piece = choice?.delta.content ?? '';
    text += piece;
    onText();
  }
  return { text, ids, finishReasons, usage };
}

describe('a replica that is killed under the openai package', () => {
  it('is not noticed by anybody who reads a stream', async () => {
    const [first, second] = [await startReplica(), await startReplica()];
    const undisturbed = await Promise.all(
      stories.map((story) => tell(clientOf(balanced(second)), story)),
    );
    const gaps: number[] = [];
    const fetch = resumableStream({
      fetch: balanced(first, second),
      onResume: (gapMs) => gaps.push(gapMs),
    });
    const begun = new Set<number>();
    let isKilled = false;
    const told = await Promise.all(
      stories.map((story, index) =>
        tell(clientOf(fetch), story, () => {
          begun.add(index);
          if (begun.size === stories.length) isKilled ||= killAll(first);
        }),
      ),
    );
    // Some have been sent in full by then.
    expect(gaps.length).toBeGreaterThan(stories.length / 2);
    for (const [index, { text, ids, finishReasons, usage }] of told.entries()) {
      expect(text).toBe(undisturbed[index]?.text);
      expect(ids.size).toBe(1);
      expect(finishReasons).toEqual(['length']);
      expect(usage?.completion_tokens).toBe(stories[index]?.max_tokens);
    }
  });
});

describe('a replica that shuts down', () => {
  it('hands its answers over, streamed or not', async () => {
    const second = await startReplica();
    const first = await startReplica('--handover-to', second.url, '--log-level', 'info');
    const undisturbed = await Promise.all(
      stories.map((story) => tell(clientOf(balanced(second)), story)),
    );
    const client = clientOf(balanced(first));
    let stopped: Promise<number | null> | undefined;
    const whole = stories.slice(0, 4).map((story) => askWhole(client, story));
    const begun = new Set<number>();
    const told = await Promise.all(
      stories.map((story, index) =>
        tell(client, story, () => {
          begun.add(index);
          if (begun.size === stories.length) stopped ??= first.stop();
        }),
      ),
    );
    for (const [index, { text, ids, finishReasons, usage }] of told.entries()) {
      expect(text).toBe(undisturbed[index]?.text);
      expect(ids.size).toBe(1);
      expect(finishReasons).toEqual(['length']);
      expect(usage?.completion_tokens).toBe(stories[index]?.max_tokens);
    }
    for (const [index, text] of (await Promise.all(whole)).entries()) {
      expect(text).toBe(undisturbed[index]?.text);
    }
    expect(await stopped).toBe(0);
    const moved = /"moved":(\d+)/.exec(first.output())?.[1];
    expect(Number(moved)).toBeGreaterThan(stories.length / 2);
  });
});

/** Streams of every API, and some that are held to a schema. */
const others = [
  {
    path: '/v1/messages',
    body: {
      messages: [{ role: 'user', content: 'Tell me a story.' }],
      max_tokens: 300,
      temperature: 0,
    },
  },
  {
    path: '/v1/responses',
    body: {
      input: 'Tell me a story.',
      ignore_eos: true,
      max_output_tokens: 300,
      temperature: 0.9,
      seed: 5,
    },
  },
  ...[0, 1].map((seed) => ({
    path: '/v1/chat/completions',
    body: {
      messages: [{ role: 'user', content: 'Name some numbers.' }],
      temperature: 0.9,
      seed,
      response_format: { type: 'json_schema', json_schema: { name: 'numbers', schema: NUMBERS } },
    },
  })),
];

/** Reads the text of a stream, and the ids that it says it under. */
async function read(
  fetch: typeof globalThis.fetch,
  { path, body }: { readonly path: string; readonly body: object | undefined },
  onText: () => void = () => {},
): Promise<{ text: string; ids: string[] }> {
  const answer = await fetch(`http://replicas${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'summit', ...body, stream: true }),
  });
  expect(answer.status).toBe(200);
  let text = '';
  const ids = new Set<string>();
  const parser = createParser({
    onEvent({ data }) {
      if (data === '[DONE]') return;
      const { id, response, message, choices, delta, error } = JSON.parse(data);
      expect(error).toBeUndefined();
      for (const each of [id, response?.id, message?.id]) if (each !== undefined) ids.add(each);
      const ofText = typeof delta === 'string' ? delta : delta?.text;
      text += choices?.[0]?.delta.content ?? ofText ?? '';
      if (text !== '') onText();
    },
  });
  const decoder = new TextDecoder();
  for await (const piece of answer.body ?? []) parser.feed(decoder.decode(piece, { stream: true }));
  return { text, ids: [...ids] };
}

describe.each(['killed', 'stopped'] as const)('a replica that is %s under all APIs', (how) => {
  it('is not noticed, and schemas are held to', async () => {
    const second = await startReplica();
    const first = await startReplica('--handover-to', second.url, '--log-level', 'info');
    const undisturbed = await Promise.all(others.map((other) => read(balanced(second), other)));
    let numResumed = 0;
    const onResume = () => numResumed++;
    const fetch =
      how === 'killed'
        ? resumableStream({ fetch: balanced(first, second), onResume })
        : balanced(first);
    const begun = new Set<number>();
    const gone: unknown[] = [];
    const told = await Promise.all(
      others.map((other, index) =>
        read(fetch, other, () => {
          begun.add(index);
          if (begun.size < others.length || gone.length > 0) return;
          gone.push(how === 'killed' ? killAll(first) : first.stop());
        }),
      ),
    );
    await Promise.all(gone);
    const moved = /"moved":(\d+)/.exec(first.output())?.[1] ?? 0;
    expect(how === 'killed' ? numResumed : Number(moved)).toBeGreaterThan(1);
    for (const [index, { text, ids }] of told.entries()) {
      expect(text).toBe(undisturbed[index]?.text);
      expect(ids).toHaveLength(1);
    }
    for (const { text } of told.slice(2)) expect(JSON.parse(text)).toHaveLength(NUM_NUMBERS);
  });
});

describe('a replica that finds others in Redis', needs(REDIS), () => {
  it('hands over to them, a stream and a request that comes late', async () => {
    const redis = await RedisServer.start();
    try {
      const flags = ['--redis', redis.url, '--handover-to', 'redis', '--log-level', 'info'];
      const [first, second] = [await startReplica(...flags), await startReplica(...flags)];
      const story = { path: '/v1/chat/completions', body: stories[0] };
      const undisturbed = await read(balanced(second), story);
      let stopped: Promise<unknown> | undefined;
      let late: Promise<{ text: string }> | undefined;
      const told = await read(balanced(first), story, () => {
        stopped ??= first.stop();
        // Its port is open as long as the stream is passed on.
        late ??= isLeaving(first).then(() => read(balanced(first), story));
      });
      expect(told.text).toBe(undisturbed.text);
      expect((await late)?.text).toBe(undisturbed.text);
      await stopped;
      expect(first.output()).toContain('"moved":1,"kept":0,"forwarded":1,"refused":0');
    } finally {
      await redis.kill();
    }
  });
});

async function isLeaving({ url }: ServerProcess): Promise<void> {
  while ((await fetch(`${url}/ready`)).status !== 503) await sleep(5);
}

async function askWhole(client: OpenAI, story: (typeof stories)[number]): Promise<string> {
  const { choices } = await client.chat.completions.create({ model: 'summit', ...story });
  return choices[0]?.message.content ?? '';
}
