/**
 * How often a model that sees reads drawings right, to the letter, by the precision of its text model and of its tower.
 *
 *   python3 scripts/training/vision/held_out.py DRAWINGS --count 1000
 *   npx tsx scripts/bench/sight.ts --model FOLDER --drawings DRAWINGS [--json]
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { startServer } from './lib/server-process.ts';
import { printTable } from './lib/table.ts';

const PRECISIONS = ['fp32', 'int8', 'int4'] as const;
const TOWERS = ['fp32', 'int8'] as const;
const AT_ONCE = 8;
const MAX_TOKENS = 16;

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    drawings: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const { model, drawings: folder } = z
  .object({ model: z.string(), drawings: z.string() })
  .parse(values);

const drawingsSchema = z.array(
  z.object({ file: z.string(), kind: z.string(), question: z.string(), answer: z.string() }),
);
type Drawing = z.output<typeof drawingsSchema>[number];
const answerSchema = z.object({
  choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]),
});

const drawings = drawingsSchema.parse(
  JSON.parse(await readFile(join(folder, 'answers.json'), 'utf8')),
);
const kinds = [...new Set(drawings.map(({ kind }) => kind))];

async function ask(url: string, { file, question }: Drawing): Promise<string> {
  const base64 = (await readFile(join(folder, file))).toString('base64');
  // The first bytes say what it is.
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } };
  const content = [image, { type: 'text', text: question }];
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      messages: [{ role: 'user', content }],
      temperature: 0,
      max_tokens: MAX_TOKENS,
    }),
  });
  return answerSchema.parse(await response.json()).choices[0].message.content;
}

/** Whether each answer is right. */
async function judge(url: string): Promise<boolean[]> {
  const right: boolean[] = [];
  const waiting = [...drawings.entries()];
  const reader = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop())
      right[next[0]] = (await ask(url, next[1])) === next[1].answer;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, reader));
  return right;
}

/** Share that is right: of all drawings, or of those of a kind. */
function share(right: readonly boolean[], kind?: string): number {
  const judged = right.filter((_, at) => kind === undefined || drawings[at]?.kind === kind);
  return judged.filter(Boolean).length / judged.length;
}

const results = [];
for (const precision of PRECISIONS) {
  for (const tower of TOWERS) {
    const flags = ['--model', model, '--precision', precision, '--vision-precision', tower];
    const server = await startServer(flags);
    try {
      const right = await judge(server.url);
      const byKind = Object.fromEntries(kinds.map((kind) => [kind, share(right, kind)]));
      results.push({ precision, tower, byKind, all: share(right) });
    } finally {
      await server.close();
    }
  }
}
if (values.json) {
  console.log(JSON.stringify(results, null, 2));
} else {
  console.log(`${model}, ${drawings.length} drawings\n`);
  const percent = (of = NaN) => `${(100 * of).toFixed(1)} %`;
  printTable(
    ['text', 'tower', ...kinds, 'all'],
    results.map(({ precision, tower, byKind, all }) => [
      precision,
      tower,
      ...kinds.map((kind) => percent(byKind[kind])),
      percent(all),
    ]),
  );
}
