/**
 * Chairlift compared with other ways of running a language model from Node.js: the SmolLM2-135M
 * shape with the same random weights, greedy, on this machine, one after the other in every round.
 *
 *   npx tsx scripts/bench/peers/compare.ts [--sequences 1,4,16] [--rounds 5] [--prompt 128]
 *     [--tokens 64] [--mixed] [--only chairlift,llama] [--against 'chairlift int8']
 *     [--threads 2] [--json] [--gguf FILE]
 *
 * With --gguf it is a real model, in Q4_1, with random prompts, and libraries of Python take part.
 * Each contender is a process of its own. Medians of the rounds; ratios are within a round, the
 * contender of --against (the first, if left out) over the other. With --mixed also four times as many
 * requests as sequences, of lognormal output lengths: output tokens per second from the first request
 * to the last token.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { machineShape } from '../lib/machine.ts';
import { Draws } from '../lib/random.ts';
import { median, printTable } from '../lib/table.ts';
import type { Work } from './contender.ts';
import { ContenderProcess } from './contender-process.ts';
import { ENTRIES, REAL_ENTRIES } from './contenders.ts';

const { values } = parseArgs({
  options: {
    sequences: { type: 'string', default: '1,4,16' },
    rounds: { type: 'string', default: '5' },
    prompt: { type: 'string', default: '128' },
    tokens: { type: 'string', default: '64' },
    mixed: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    against: { type: 'string' },
    gguf: { type: 'string' },
    threads: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const promptTokens = Number(values.prompt);
const outputTokens = Number(values.tokens);
const threads = Number(values.threads);
const wanted = values.only.split(',');
const gguf = values.gguf ?? null;
const all = gguf === null ? ENTRIES : REAL_ENTRIES;
const entries = all.filter(({ name }) => wanted.some((part) => name.includes(part)));
const draws = new Draws(1);

interface Rates {
  readonly name: string;
  /** Tokens per second, one for each round. */
  readonly prefill: number[];
  readonly decode: number[];
  readonly mixed: number[];
}

interface Comparison {
  readonly sequences: number;
  readonly contenders: readonly Rates[];
}

function drawWork(count: number, lengthOf: () => number): Work[] {
  return Array.from({ length: count }, () => ({
    promptTokenIds: [...draws.tokenIds(promptTokens)],
    outputTokens: lengthOf(),
  }));
}

async function compare(sequences: number): Promise<Comparison> {
  const longest = outputTokens * 4;
  const setup = {
    preset: 'smollm2-135m',
    seed: 1,
    gguf,
    sequences,
    capacity: Math.ceil((promptTokens + longest + 1) / 256) * 256,
    threads,
  } as const;
  const contenders: ContenderProcess[] = [];
  for (const entry of entries) contenders.push(await ContenderProcess.open(entry, setup));
  const rates = entries.map(({ name }): Rates => ({ name, prefill: [], decode: [], mixed: [] }));
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const even = drawWork(sequences, () => outputTokens);
    const mixed = drawWork(values.mixed ? 4 * sequences : 0, () =>
      draws.lognormal(outputTokens * 0.6, 1, 4, longest),
    );
    for (const [index, contender] of contenders.entries()) {
      const { prefillMs, decodeMs } = await contender.batch(even);
      const servedMs = mixed.length > 0 ? await contender.serve(mixed) : null;
      if (round === 0) continue;
      const mixedTokens = mixed.reduce((sum, item) => sum + item.outputTokens, 0);
      const perSecond = (tokens: number, ms: number) => (tokens * 1000) / ms;
      rates[index]?.decode.push(perSecond(sequences * outputTokens, decodeMs));
      if (prefillMs !== null) {
        rates[index]?.prefill.push(perSecond(sequences * promptTokens, prefillMs));
      }
      if (servedMs !== null) rates[index]?.mixed.push(perSecond(mixedTokens, servedMs));
    }
  }
  for (const contender of contenders) await contender.close();
  return { sequences, contenders: rates };
}

function rowOf(rates: Rates, first: Rates, kinds: readonly ('prefill' | 'decode' | 'mixed')[]) {
  const cells = kinds.flatMap((kind) => {
    if (rates[kind].length === 0) return ['-', '-'];
    const ratios = first[kind].map((value, round) => value / (rates[kind][round] ?? NaN));
    return [median(rates[kind]).toFixed(0), `${median(ratios).toFixed(2)}x`];
  });
  return [rates.name, ...cells];
}

const comparisons: Comparison[] = [];
for (const sequences of values.sequences.split(',').map(Number)) {
  comparisons.push(await compare(sequences));
}

if (values.json) {
  const shape = { promptTokens, outputTokens, threads, rounds };
  console.log(JSON.stringify({ machine: machineShape(), ...shape, comparisons }));
} else {
  console.log(
    `${machineShape()}; ${threads} threads, prompt ${promptTokens}, ${outputTokens} tokens, medians of ${rounds} rounds`,
  );
  const header = ['', 'prefill tok/s', 'ratio', 'decode tok/s', 'ratio'];
  for (const { sequences, contenders } of comparisons) {
    const first = contenders.find(({ name }) => name === values.against) ?? contenders[0];
    if (!first) continue;
    console.log(`\n${sequences} sequences\n`);
    printTable(
      values.mixed ? [...header, 'mixed tok/s', 'ratio'] : header,
      contenders.map((rates) =>
        rowOf(rates, first, values.mixed ? ['prefill', 'decode', 'mixed'] : ['prefill', 'decode']),
      ),
    );
  }
}
