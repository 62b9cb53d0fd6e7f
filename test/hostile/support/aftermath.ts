/** Whether a server is whole again once an attack is over. */
import { metric } from '../../support/http-client.ts';
import { until } from '../../support/processes.ts';
import type { Client } from './client.ts';

/** From the end of an attack until nothing of it is at work any more. */
const CALM_MS = 10_000;
/** For each of the requests that show that nothing is wedged. */
const ANSWER_MS = 15_000;

/** Long enough, with some 6,000 characters, to be made in a thread; one for each thread there may be. */
const LONG_PROMPTS = ['fox', 'hare', 'bear', 'owl'].map((name) =>
  `Once upon a time the ${name} went into the wood to look for berries. `.repeat(90),
);
const json = {
  messages: [{ role: 'user', content: 'Give me a JSON object with a name.' }],
  response_format: { type: 'json_object' },
  max_tokens: 32,
};
const small = { request_id: 'after', prompt: 'Once', max_tokens: 4 };

/**
 * @param metricsUrl where `/metrics` is
 * @returns what is wrong, in words; nothing, if all is well
 */
export async function faultsAfter(client: Client, metricsUrl: string): Promise<readonly string[]> {
  const checks: Readonly<Record<string, () => Promise<void>>> = {
    'requests are still running or waiting': () => until(() => isIdle(metricsUrl), 'rest', CALM_MS),
    '/ready is not 200': async () => expectOk(client, '/ready'),
    'long prompts are not served': async () => {
      await Promise.all(
        LONG_PROMPTS.map((prompt) =>
          expectOk(client, '/v1/completions', { prompt, max_tokens: 4 }),
        ),
      );
    },
    'a `json_object` is not served': () => expectOk(client, '/v1/chat/completions', json),
    'a WebSocket request is not served': () => expectDone(client),
  };
  const faults: string[] = [];
  for (const [fault, check] of Object.entries(checks)) {
    await inTime(check()).catch((error: unknown) => faults.push(`${fault}: ${String(error)}`));
  }
  return faults;
}

async function isIdle(url: string): Promise<boolean> {
  const running = await metric(url, 'chairlift_num_requests_running');
  const waiting = await metric(url, 'chairlift_num_requests_waiting');
  return running === 0 && waiting === 0;
}

async function expectOk(client: Client, path: string, body?: object): Promise<void> {
  const { status, text } = await client.send(path, { body });
  if (status !== 200) throw new Error(`${status} ${text.slice(0, 200)}`);
}

async function expectDone(client: Client): Promise<void> {
  const socket = await client.socket('/v1/completions');
  const done = new Promise<void>((resolve, reject) => {
    socket.on('message', (data: Buffer) => {
      const { type, error } = JSON.parse(data.toString()) as { type?: string; error?: object };
      if (error !== undefined) reject(new Error(JSON.stringify(error)));
      if (type === 'done') resolve();
    });
    socket.on('close', () => reject(new Error('the socket was closed')));
  });
  socket.send(JSON.stringify(small));
  await done.finally(() => socket.terminate());
}

function inTime(check: Promise<void>): Promise<void> {
  return Promise.race([
    check,
    new Promise<void>((_resolve, reject) => {
      setTimeout(() => reject(new Error(`not in ${ANSWER_MS} ms`)), ANSWER_MS).unref();
    }),
  ]);
}
