/**
 * People who each ask again as soon as they are answered, on a connection of their own each time:
 * `crowd.ts URL`. A line of its input says how many there are from then on. When its input ends, it
 * waits for the answers that are under way, and prints `CrowdSeen` as a line of JSON.
 */
import { createInterface } from 'node:readline';
import OpenAI from 'openai';
import type { Answer, CrowdSeen } from './crowd-seen.ts';
import { STORY } from './seen.ts';

const [url = ''] = process.argv.slice(2);
/** For an answer that hangs. */
const PATIENCE_MS = 600_000;
/** Different stories; people ask for the same ones. */
const STORIES = 20;
const TOKENS = 60;

const seen: CrowdSeen = { answers: [], failures: [], different: 0, longestGapMs: 0 };
const told = new Map<number, string>();
/** A balancer of connections would otherwise send no old client to a new pod. */
const client = new OpenAI({
  baseURL: `${url}/v1`,
  apiKey: 'none',
  timeout: PATIENCE_MS,
  defaultHeaders: { connection: 'close' },
});

async function ask(person: number): Promise<void> {
  const index = person % STORIES;
  const at = Date.now();
  const body = { ...STORY(index), max_tokens: TOKENS, stream: true as const };
  const stream = await client.completions.create(body);
  let text = '';
  let before: number | undefined;
  let firstAt = at;
  let reason: string | null = null;
  for await (const chunk of stream) {
    const now = performance.now();
    if (before === undefined) firstAt = Date.now();
    else seen.longestGapMs = Math.max(seen.longestGapMs, now - before);
    before = now;
    text += chunk.choices[0]?.text ?? '';
    reason = chunk.choices[0]?.finish_reason ?? reason;
  }
  if (reason !== 'length') throw new Error(`a stream ended by ${reason}`);
  const expected = told.get(index) ?? text;
  told.set(index, expected);
  if (text !== expected) seen.different++;
  const answer: Answer = { at, ttftMs: firstAt - at };
  seen.answers.push(answer);
}

const crowd = { size: 0 };
const people: Promise<void>[] = [];

async function stay(person: number): Promise<void> {
  while (person < crowd.size) {
    await ask(person).catch((error: unknown) => {
      seen.failures.push(`${person}: ${String(error)}`);
    });
  }
}

for await (const line of createInterface(process.stdin)) {
  const before = crowd.size;
  crowd.size = Number(line);
  for (let person = before; person < crowd.size; person++) people.push(stay(person));
}
crowd.size = 0;
await Promise.all(people);
console.log(JSON.stringify(seen));
process.exit();
