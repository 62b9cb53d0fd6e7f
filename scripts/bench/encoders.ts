/**
 * Texts per second of encoders, and how near their vectors are to sentence-transformers'.
 *
 *   npx tsx scripts/bench/encoders.ts FOLDER --python PYTHON [--rounds 7] [--batch 32] [--words 16] [--threads 2]
 *
 * FOLDER is one that sentence-transformers wrote, of BERT's kind: all-MiniLM-L6-v2, or what
 * scripts/bench/peers/encoder_peers.py makes with --like. Of this server, with the same threads, a request with
 * all texts over HTTP counts; of the others the call, tokens included. Each round asks all of them, in another
 * order, for new texts; ratios are of one round.
 */
import { spawn } from 'node:child_process';
import { loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { machineShape } from './lib/machine.ts';
import { Draws } from './lib/random.ts';
import { startServer } from './lib/server-process.ts';
import { median, printTable } from './lib/table.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    python: { type: 'string', default: 'python3' },
    rounds: { type: 'string', default: '7' },
    batch: { type: 'string', default: '32' },
    words: { type: 'string', default: '16' },
    threads: { type: 'string', default: '2' },
  },
});
const [folder = ''] = positionals;
const { python, threads } = values;
const [rounds, batch, words] = [values.rounds, values.batch, values.words].map(Number) as [
  number,
  number,
  number,
];

interface Outcome {
  readonly seconds: number;
  readonly vectors: readonly (readonly number[])[];
}

type Encode = (texts: readonly string[]) => Promise<Outcome>;

const tokenizer = z
  .object({ model: z.object({ vocab: z.record(z.string(), z.number()) }) })
  .parse(JSON.parse(await readFile(join(folder, 'tokenizer.json'), 'utf8')));
const vocabulary = Object.keys(tokenizer.model.vocab).filter((word) => /^[a-z]{3,}$/.test(word));
const draws = new Draws(1);

/** Texts of drawn words, from half to three halves of `--words` long. */
function drawTexts(): string[] {
  return Array.from({ length: batch }, () => {
    const length = Math.round(words * (0.5 + draws.uniform()));
    const drawn = () => vocabulary[draws.integer(vocabulary.length)] ?? '';
    return Array.from({ length }, drawn).join(' ');
  });
}

const answer = z.object({ data: z.array(z.object({ embedding: z.string() })) });

async function startOwn(precision: string): Promise<{ encode: Encode; close(): Promise<void> }> {
  const flags = ['--model', folder, '--precision', precision, '--threads', threads];
  const server = await startServer(flags);
  const encode: Encode = async (input) => {
    const startedAt = performance.now();
    const response = await fetch(`${server.url}/v1/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input, encoding_format: 'base64' }),
    });
    const { data } = answer.parse(await response.json());
    const seconds = (performance.now() - startedAt) / 1000;
    const vectors = data.map(({ embedding }) => {
      const bytes = Uint8Array.from(Buffer.from(embedding, 'base64'));
      return [...new Float32Array(bytes.buffer)];
    });
    return { seconds, vectors };
  };
  return { encode, close: () => server.close() };
}

const outcome = z.object({ seconds: z.number(), vectors: z.array(z.array(z.number())) });

async function startPeers() {
  const script = fileURLToPath(new URL('peers/encoder_peers.py', import.meta.url));
  const child = spawn(python, [script, folder, threads], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  // Messages of exporting come before.
  for (let line = await lines.next(); line.value !== 'ready'; line = await lines.next()) {
    if (line.done === true) throw new Error('the peers ended');
  }
  const of =
    (peer: string): Encode =>
    async (texts) => {
      child.stdin.write(`${JSON.stringify({ peer, texts })}\n`);
      return outcome.parse(JSON.parse(String((await lines.next()).value)));
    };
  return { of, close: () => void child.stdin.end() };
}

/** The least cosine of two encoders' vectors for the same texts. */
function leastCosine(some: Outcome, others: Outcome): number {
  return Math.min(
    ...some.vectors.map((vector, row) =>
      vector.reduce((sum, value, at) => sum + value * (others.vectors[row]?.[at] ?? NaN), 0),
    ),
  );
}

const peers = await startPeers();
const own = { fp32: await startOwn('fp32'), int8: await startOwn('int8') };
const contenders = new Map<string, Encode>([
  ['sentence-transformers', peers.of('torch')],
  ['ONNX Runtime', peers.of('onnx')],
  ['ONNX Runtime, dynamic int8', peers.of('onnx-int8')],
  ['this server', own.fp32.encode],
  ['this server, int8', own.int8.encode],
]);
const [reference = ''] = contenders.keys();
const told = new Map(
  [...contenders.keys()].map((name): [string, Told] => [
    name,
    { rates: [], ratios: [], cosines: [] },
  ]),
);

interface Told {
  readonly rates: number[];
  readonly ratios: number[];
  readonly cosines: number[];
}

for (const encode of contenders.values()) await encode(drawTexts());
const loads = [loadavg()[0] ?? NaN];
for (let round = 0; round < rounds; round++) {
  const texts = drawTexts();
  const names = [...contenders.keys()];
  const order = [...names.slice(round % names.length), ...names.slice(0, round % names.length)];
  const made = new Map<string, Outcome>();
  for (const name of order) made.set(name, await (contenders.get(name) as Encode)(texts));
  const base = made.get(reference);
  for (const [name, { rates, ratios, cosines }] of told) {
    const one = made.get(name);
    if (one === undefined || base === undefined) continue;
    rates.push(batch / one.seconds);
    ratios.push(base.seconds / one.seconds);
    cosines.push(leastCosine(one, base));
  }
  loads.push(loadavg()[0] ?? NaN);
}
console.log(
  `${machineShape()}; ${threads} threads; load ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}`,
);
printTable(
  ['encoder', 'texts/s', 'times sentence-transformers', 'least cosine'],
  [...told].map(([name, { rates, ratios, cosines }]) => [
    name,
    median(rates).toFixed(1),
    median(ratios).toFixed(2),
    Math.min(...cosines).toFixed(6),
  ]),
);
peers.close();
await Promise.all([own.fp32.close(), own.int8.close()]);
