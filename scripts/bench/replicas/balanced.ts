/**
 * Conversations over three replicas behind one kind of balancer: `balanced.ts BALANCER CONVERSATIONS AT_ONCE`
 * prints a line of JSON. For the picker, the gateway runs already, in the same network.
 */
import { Agent } from 'node:http';
import { z } from 'zod';
import { metric, post } from '../../../test/support/http-client.ts';
import { until } from '../../../test/support/processes.ts';
import { Replicas } from '../../../test/support/replicas.ts';
import { type ServerProcess, startServer } from '../../../test/support/server-process.ts';
import { GATEWAY, PICKER_METRICS } from '../../kubernetes/cluster/gateway.ts';
import { NO_DRAFTS } from '../lib/server-process.ts';
import { streamChat } from '../lib/streamed-chat.ts';
import { type Balancer, BALANCERS, type Outcome, REPLICAS } from './balancers.ts';

const ARGS = ['--threads=1', NO_DRAFTS];
const TURNS = 6;
/** Conversations share these. */
const NUM_SYSTEMS = 6;
const MAX_TOKENS = 32;

interface Balanced {
  readonly url: string;
  readonly replicas: readonly string[];
  readonly stop: () => Promise<unknown>;
}

async function start(balancer: Balancer): Promise<Balanced> {
  if (balancer === 'picker') return startPicked();
  const affinity = balancer === "HAProxy's hash";
  const replicas = await Replicas.start(['one', 'two', 'three'], { args: ARGS, affinity });
  const urls = [...replicas.running.values()].map(({ url }) => url);
  return { url: replicas.url, replicas: urls, stop: () => replicas.stop() };
}

async function startPicked(): Promise<Balanced> {
  const servers: ServerProcess[] = [];
  // Bound to the loopback, they would answer to no other name.
  const known = `--allowed-host=${new URL(GATEWAY).hostname}`;
  for (const host of Object.values(REPLICAS)) {
    servers.push(await startServer([...ARGS, known, `--host=${host}`, '--port=8000']));
  }
  const knows = async () => (await metric(PICKER_METRICS, 'inference_pool_ready_pods')) === 3;
  await until(knows, 'replicas that the picker knows');
  const isThere = async () => (await post(`${GATEWAY}/v1/completions`, WARM_UP)).ok;
  await until(isThere, 'the gateway');
  return {
    url: GATEWAY,
    replicas: servers.map(({ url }) => url),
    stop: () => Promise.all(servers.map((server) => server.stop())),
  };
}

/** The picker takes only requests that name a model. */
const WARM_UP = { model: 'summit', prompt: 'Once upon a time', max_tokens: 4 };

async function run(balancer: Balancer, conversations: number, atOnce: number): Promise<Outcome> {
  const { url, replicas, stop } = await start(balancer);
  const agent = new Agent({ keepAlive: true });
  try {
    const served = () =>
      Promise.all(replicas.map((each) => metric(each, 'chairlift_request_success_total')));
    for (const each of replicas) await (await post(`${each}/v1/completions`, WARM_UP)).json();
    const before = await served();
    const ttfts: number[] = [];
    let [failed, numCached, numPrompt] = [0, 0, 0];
    const histories = Array.from({ length: conversations }, (_, index) => [
      { role: 'system', content: system(index % NUM_SYSTEMS) },
    ]);
    const ask = async (history: { role: string; content: string }[], about: string) => {
      history.push({ role: 'user', content: about });
      const options = { stream_options: { include_usage: true }, ignore_eos: true, temperature: 0 };
      const body = { model: 'summit', messages: history, max_tokens: MAX_TOKENS, ...options };
      try {
        const chat = await streamChat(url, agent, body);
        history.push({ role: 'assistant', content: chat.content });
        ttfts.push(chat.ttftMs);
        numCached += chat.numCachedTokens;
        numPrompt += chat.numPromptTokens;
      } catch {
        failed++;
      }
    };
    // A turn of each conversation, then the next turn of each: as users who read before they ask.
    for (let turn = 1; turn <= TURNS; turn++) {
      let next = 0;
      const clients = Array.from({ length: atOnce }, async () => {
        for (let index = next++; index < conversations; index = next++) {
          await ask(histories[index] ?? [], `Chapter ${turn} of the story of traveller ${index}?`);
        }
      });
      await Promise.all(clients);
    }
    const sorted = ttfts.toSorted((a, b) => a - b);
    const quantile = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? NaN;
    const after = await served();
    return {
      requests: conversations * TURNS,
      failed,
      hitRate: numCached / numPrompt,
      ttftMs: { p50: quantile(0.5), p95: quantile(0.95) },
      served: after.map((count, index) => count - (before[index] ?? 0)),
    };
  } finally {
    agent.destroy();
    await stop();
  }
}

/** A text of some 150 tokens that begins as no other does. */
function system(index: number): string {
  const rule = `Rule ${index} of this storyteller is to answer in a few plain sentences about the sea. `;
  return rule.repeat(6);
}

const [balancer, conversations, atOnce] = process.argv.slice(2);
const asked = z.enum(BALANCERS).parse(balancer);
console.log(JSON.stringify(await run(asked, Number(conversations), Number(atOnce))));
