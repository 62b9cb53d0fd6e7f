/**
 * `chairlift distill-data` with many texts at once against one at a time: soft targets per second of the
 * clock, without the start. Cases take turns; medians.
 *
 *   npm run build && npx tsx scripts/bench/distill.ts [--teacher models/summit] [--texts 150] [--rounds 3]
 *     [--at-once 32,1] [--precision fp32] [--threads 2]
 *
 * Prompts are questions of the embedded model's eval.jsonl; answers have 64 tokens at most.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { readEvalFile } from '../../src/eval/eval-file.ts';
import { median, printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    teacher: { type: 'string', default: 'models/summit' },
    texts: { type: 'string', default: '150' },
    rounds: { type: 'string', default: '3' },
    'at-once': { type: 'string', default: '32,1' },
    precision: { type: 'string', default: 'fp32' },
    threads: { type: 'string', default: String(availableParallelism()) },
  },
});
const folder = await mkdtemp(join(tmpdir(), 'distill-'));
const prompts = join(folder, 'prompts.jsonl');
const { questions } = await readEvalFile('models/summit/eval.jsonl');
const lines = questions
  .slice(0, Number(values.texts))
  .map(({ prompt }) => JSON.stringify({ messages: [{ role: 'user', content: prompt }] }));
await writeFile(prompts, lines.join('\n'));

/** @returns tokens with targets, and of these per second */
async function collect(atOnce: string, name: string): Promise<[tokens: number, rate: number]> {
  const files = ['--teacher', values.teacher, '--prompts', prompts, '--out', join(folder, name)];
  const engine = ['--max-num-seqs', atOnce, '--precision', values.precision];
  const more = ['--threads', values.threads, '--max-tokens', '64'];
  const args = ['dist/cli/main.js', 'distill-data', ...files, ...engine, ...more];
  const { stderr } = await promisify(execFile)(process.execPath, args);
  const [, tokens, rate] = /targets of (\d+) tokens in [\d.]+ s, (\d+) tokens/.exec(stderr) ?? [];
  return [Number(tokens), Number(rate)];
}

const cases = values['at-once'].split(',').map((atOnce) => ({ atOnce, rates: [] as number[] }));
let numTokens = 0;
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const { atOnce, rates } of cases) {
      const [tokens, rate] = await collect(atOnce, `${round}-${atOnce}.gz`);
      numTokens = tokens;
      rates.push(rate);
    }
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
console.log(`${lines.length} answers, ${numTokens} targets`);
printTable(
  ['at once', 'targets/s', 'of rounds'],
  cases.map(({ atOnce, rates }) => [atOnce, median(rates).toFixed(0), rates.join(', ')]),
);
