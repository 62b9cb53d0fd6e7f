/**
 * Texts of a real model, by kind of prompt, from servers that run already: tokens per second of all streams, until
 * the last of them has its whole text, as clients see it. So drafts and all else are as each server was started.
 *
 *   npx tsx scripts/bench/served-texts.ts --server NAME=URL [--server NAME=URL]... [--streams 1,4,16] [--prompts 16]
 *     [--tokens 160] [--rounds 2]
 *
 * Prompts are those of speculative.ts, greedy, each once in a round; servers take turns at each kind, in another
 * order every time. The first server is what the others are set against.
 */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { machineShape } from './lib/machine.ts';
import { namedServers } from './lib/named-servers.ts';
import { type BenchPrompt, speculativePrompts } from './lib/speculative-prompts.ts';
import { printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    server: { type: 'string', multiple: true, default: [] },
    streams: { type: 'string', default: '1,4,16' },
    prompts: { type: 'string', default: '16' },
    tokens: { type: 'string', default: '160' },
    rounds: { type: 'string', default: '2' },
  },
});
const servers = namedServers(values.server);
if (servers.length === 0) throw new Error('--server NAME=URL is missing');

const answer = z.object({ usage: z.object({ completion_tokens: z.number() }) });

/** @returns tokens of the answer */
async function ask(url: string, { text, system, isRaw }: BenchPrompt): Promise<number> {
  const messages = [
    ...(system === undefined ? [] : [{ role: 'system', content: system }]),
    { role: 'user', content: text },
  ];
  const response = await fetch(`${url}/v1/${isRaw ? 'completions' : 'chat/completions'}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'any',
      ...(isRaw ? { prompt: text } : { messages }),
      max_tokens: Number(values.tokens),
      temperature: 0,
    }),
  });
  if (!response.ok) throw new Error(await response.text());
  return answer.parse(await response.json()).usage.completion_tokens;
}

interface Tally {
  tokens: number;
  seconds: number;
}

/** Asks everything, some at once. */
async function run(url: string, prompts: readonly BenchPrompt[], streams: number): Promise<Tally> {
  const left = [...prompts];
  const startedAt = performance.now();
  let tokens = 0;
  const stream = async () => {
    for (let next = left.pop(); next; next = left.pop()) {
      const own = await ask(url, next);
      tokens += own;
    }
  };
  await Promise.all(Array.from({ length: streams }, stream));
  return { tokens, seconds: (performance.now() - startedAt) / 1000 };
}

const prompts = speculativePrompts('models/summit/eval.jsonl', Number(values.prompts)).filter(
  // Texts that a grammar forces are another comparison.
  ({ schema }) => schema === undefined,
);
const byKind = new Map<string, BenchPrompt[]>();
for (const each of prompts) byKind.set(each.kind, [...(byKind.get(each.kind) ?? []), each]);

const [warmUp] = prompts;
for (const { url } of servers) if (warmUp) await ask(url, warmUp);

const tallies = new Map<string, Tally>();
let turn = 0;
for (let round = 0; round < Number(values.rounds); round++) {
  for (const streams of values.streams.split(',').map(Number)) {
    for (const [kind, own] of byKind) {
      turn++;
      for (const at of servers.keys()) {
        const server = servers[(at + turn) % servers.length];
        if (!server) continue;
        const key = `${streams} ${kind} ${server.name}`;
        const before = tallies.get(key) ?? { tokens: 0, seconds: 0 };
        const { tokens, seconds } = await run(server.url, own, streams);
        tallies.set(key, { tokens: before.tokens + tokens, seconds: before.seconds + seconds });
      }
    }
  }
}

const rateOf = (key: string) => {
  const { tokens, seconds } = tallies.get(key) ?? { tokens: NaN, seconds: NaN };
  return tokens / seconds;
};
console.log(`${machineShape()}; rounds: ${values.rounds}\n`);
const [first] = servers;
printTable(
  ['streams', 'prompts', ...servers.map(({ name }) => name)],
  values.streams.split(',').flatMap((streams) =>
    Array.from(byKind.keys(), (kind) => {
      const base = rateOf(`${streams} ${kind} ${first?.name}`);
      const cells = servers.map(({ name }, at) => {
        const rate = rateOf(`${streams} ${kind} ${name}`);
        return at === 0 ? rate.toFixed(1) : `${rate.toFixed(1)} (${(base / rate).toFixed(2)}x)`;
      });
      return [streams, kind, ...cells];
    }),
  ),
);
