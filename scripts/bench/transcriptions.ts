/**
 * Costs of transcriptions for chats of the same server, and the words that they get wrong.
 *
 *   npx tsx scripts/bench/transcriptions.ts SOUNDS [--streams 8] [--chats 8] [--seconds 20]
 *
 * SOUNDS is a folder that scripts/references/real_whisper.py wrote with Whisper tiny.en; after
 * scripts/real-models/fetch.ts. Chats are those of models/summit, alone first and then beside streams that send
 * one sound after the other. Words are compared in lower case, without punctuation.
 */
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { realModelPath } from '../real-models/models.ts';
import { startServer } from './lib/server-process.ts';
import { printTable } from './lib/table.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    streams: { type: 'string', default: '8' },
    chats: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '20' },
  },
});
const [sounds = ''] = positionals;
const { cases } = z
  .object({ cases: z.array(z.object({ sound: z.string(), said: z.string(), text: z.string() })) })
  .parse(JSON.parse(await readFile(join(sounds, 'reference.json'), 'utf8')));
const files = await Promise.all(cases.map(({ sound }) => readFile(join(sounds, sound))));

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
}

/** Words that have to be put in, taken out or replaced. */
function wordErrors(said: readonly string[], heard: readonly string[]): number {
  let row = Array.from({ length: heard.length + 1 }, (_, at) => at);
  for (const [index, word] of said.entries()) {
    const next = [index + 1];
    for (const [at, other] of heard.entries()) {
      const replaced = (row[at] ?? 0) + (word === other ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

const folder = await mkdtemp(join(tmpdir(), 'chairlift-transcriptions-'));
await symlink(resolve('models/summit'), join(folder, 'summit'));
await symlink(realModelPath('whisper-tiny.en'), join(folder, 'whisper'));
const server = await startServer(['--model-repository', folder, '--precision', 'fp32']);

async function transcribe(file: Uint8Array<ArrayBuffer>): Promise<string> {
  const body = new FormData();
  body.append('file', new Blob([file]), 'sound.wav');
  body.append('model', 'whisper');
  const url = `${server.url}/v1/audio/transcriptions`;
  const response = await fetch(url, { method: 'POST', body });
  return z.object({ text: z.string() }).parse(await response.json()).text;
}

/** Milliseconds between the tokens of chats, until `isOver`. */
async function chat(gaps: number[], isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'summit',
        messages: [{ role: 'user', content: 'Tell me a story.' }],
        max_tokens: 200,
        ignore_eos: true,
        stream: true,
      }),
    });
    let last = NaN;
    for await (const _ of response.body ?? []) {
      const now = performance.now();
      if (!Number.isNaN(last)) gaps.push(now - last);
      last = now;
    }
  }
}

function percentile(gaps: readonly number[], part: number): string {
  const sorted = gaps.toSorted((a, b) => a - b);
  return (sorted[Math.floor(part * (sorted.length - 1))] ?? NaN).toFixed(1);
}

async function measure(streams: number): Promise<string[]> {
  const end = performance.now() + Number(values.seconds) * 1000;
  const isOver = (): boolean => performance.now() > end;
  const gaps: number[] = [];
  let done = 0;
  const chats = Array.from({ length: Number(values.chats) }, () => chat(gaps, isOver));
  const heard = Array.from({ length: streams }, async (_, index) => {
    for (let turn = index; !isOver(); turn++) {
      await transcribe(Uint8Array.from(files[turn % files.length] ?? []));
      done++;
    }
  });
  await Promise.all([...chats, ...heard]);
  const counts = [streams, done, gaps.length].map(String);
  return [...counts, percentile(gaps, 0.5), percentile(gaps, 0.95), percentile(gaps, 0.99)];
}

try {
  const texts: string[] = [];
  for (const file of files) texts.push(await transcribe(Uint8Array.from(file)));
  const said = cases.map((each) => wordsOf(each.said));
  const errors = (all: readonly string[], of: readonly string[][]) =>
    String(of.reduce((sum, words, at) => sum + wordErrors(words, wordsOf(all[at] ?? '')), 0));
  const theirs = cases.map(({ text }) => text);
  console.log(`${said.flat().length} words in ${cases.length} sounds`);
  printTable(
    ['', 'word errors'],
    [
      ['Chairlift', errors(texts, said)],
      ['Transformers', errors(theirs, said)],
      ['Chairlift against Transformers', errors(texts, theirs.map(wordsOf))],
    ],
  );
  await measure(0);
  printTable(
    ['streams', 'sounds', 'gaps', 'p50, ms', 'p95, ms', 'p99, ms'],
    [await measure(0), await measure(Number(values.streams))],
  );
} finally {
  await server.close();
  await rm(folder, { recursive: true });
}
