/**
 * Streams and a WebSocket that go on until their input ends, by the way that clients of a cluster take:
 * `load.ts URL resumable|plain STREAMS`. Prints a line when each text is known from an undisturbed run,
 * and at the end a line of JSON with what was seen (`Seen`).
 */
import OpenAI from 'openai';
import { resumableStream } from '../../../src/client/resumable-stream.ts';
import { SocketTeller } from './socket-teller.ts';
import { type Seen, STORY, UNDISTURBED } from './seen.ts';

const [url = '', way = '', streams = ''] = process.argv.slice(2);
const STREAMS = Number(streams);
/** For an answer that hangs. */
const PATIENCE_MS = 120_000;

const seen: Seen = {
  answers: 0,
  failures: [],
  different: 0,
  longestGapMs: 0,
  resumed: 0,
  reopened: 0,
};
const onResume = () => void seen.resumed++;
/** With its own retries, and as it comes unless streams are to go on. */
const client = new OpenAI({
  baseURL: `${url}/v1`,
  apiKey: 'none',
  ...(way === 'resumable' ? { fetch: resumableStream({ onResume }) } : {}),
});

async function tell(index: number): Promise<string> {
  const body = { ...STORY(index), stream: true as const };
  const stream = await client.completions.create(body, {
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  let text = '';
  let before: number | undefined;
  let reason: string | null = null;
  for await (const chunk of stream) {
    const now = performance.now();
    if (before !== undefined) seen.longestGapMs = Math.max(seen.longestGapMs, now - before);
    before = now;
    text += chunk.choices[0]?.text ?? '';
    reason = chunk.choices[0]?.finish_reason ?? reason;
  }
  if (reason !== 'length') throw new Error(`a stream ended by ${reason}`);
  return text;
}

/** Counts an answer, or why there is none. */
async function count(
  index: number,
  answer: () => Promise<string>,
  expected: string,
): Promise<void> {
  try {
    const text = await answer();
    seen.answers++;
    if (text !== expected) seen.different++;
  } catch (error) {
    seen.failures.push(`${index}: ${String(error)}`);
  }
}

const socket = new SocketTeller(`${url.replace('http', 'ws')}/v1/completions`, way === 'resumable');
const expected = await Promise.all(Array.from({ length: STREAMS }, (_, index) => tell(index)));
const ofSocket = await socket.tell(STORY(STREAMS));
console.log(UNDISTURBED);

process.stdin.resume();
async function repeat(index: number, answer: () => Promise<string>, text: string): Promise<void> {
  while (!process.stdin.readableEnded) await count(index, answer, text);
}
await Promise.all([
  ...expected.map((text, index) => repeat(index, () => tell(index), text)),
  repeat(STREAMS, () => socket.tell(STORY(STREAMS)), ofSocket),
]);
seen.reopened = socket.numOpened - 1;
seen.resumed += socket.numResumed;
console.log(JSON.stringify(seen));
process.exit();
