/**
 * Time to the first token of a conversation's second turn, with and without `--prefetch-next-turn`, and
 * of the first turn with and without `--prefetch`. Two servers with the embedded model take turns.
 *
 *   npx tsx scripts/bench/next-turn.ts [--rounds 20] [--tokens 300] [--pause 1000] [--json]
 *
 * Two templates: the model's own, where the next prompt goes on with the answer's tokens as they were
 * generated; and one that begins an answer with an empty thought and leaves that out of earlier
 * answers, as Qwen3's does without thinking, so that all of the answer has to be computed again.
 */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { machineShape } from './lib/machine.ts';
import { type ServerProcess, startServer } from './lib/server-process.ts';
import { streamChat } from './lib/streamed-chat.ts';
import { median, printTable } from './lib/table.ts';

const SUMMIT = fileURLToPath(new URL('../../models/summit', import.meta.url));
const OPENING = "'<|im_start|>assistant\\n' }}{%- endif %}\n";
const THOUGHT = '<think>\\n\\n</think>\\n\\n';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    tokens: { type: 'string', default: '300' },
    pause: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const tokens = Number(values.tokens);
const pauseMs = Number(values.pause);

interface Message {
  readonly role: string;
  readonly content: string;
}

/** A long system prompt, as applications have them. */
const SYSTEM = Array.from(
  { length: 60 },
  (_, index) => `Rule ${index}: be kind, be brief and think of number ${index * 7}.`,
).join('\n');

interface Times {
  /** Milliseconds of the first turn with the system prompt, of the second. */
  readonly first: number[];
  readonly second: number[];
}

async function converse(server: ServerProcess, agent: Agent, round: number, into: Times) {
  const question = { role: 'user', content: `Tell me a long story about animal number ${round}.` };
  const messages: Message[] = [{ role: 'system', content: SYSTEM }, question];
  // A stop string ends it as a complete answer, once it is long enough.
  const body = { temperature: 0.7, seed: round, min_tokens: tokens, stop: ['e', 'a', 'o'] };
  const first = await streamChat(server.url, agent, { ...body, messages });
  await sleep(pauseMs);
  const next = { role: 'user', content: 'And what does it do then?' };
  const answer = { role: 'assistant', content: first.content };
  const second = await streamChat(server.url, agent, {
    messages: [...messages, answer, next],
    max_tokens: 4,
    temperature: 0,
  });
  if (round < 0) return;
  into.first.push(first.ttftMs);
  into.second.push(second.ttftMs);
}

async function withTemplate(folder: string, edit: (template: string) => string): Promise<string> {
  const model = join(folder, 'summit');
  await cp(SUMMIT, model, { recursive: true });
  const path = join(model, 'tokenizer_config.json');
  const config: { chat_template: string } = JSON.parse(await readFile(path, 'utf8'));
  const edited = edit(config.chat_template);
  await writeFile(path, JSON.stringify({ ...config, chat_template: edited }));
  return model;
}

/** The generation prompt ends with an empty thought; earlier answers have none. */
function withEmptyThought(template: string): string {
  const at = template.lastIndexOf(OPENING.trim());
  if (at === -1) throw new Error('the template does not end as it did');
  return `${template.slice(0, at)}'<|im_start|>assistant\\n${THOUGHT}' }}{%- endif %}`;
}

const folder = await mkdtemp(join(tmpdir(), 'chairlift-next-turn-'));
const results: { template: string; turn: string; without: number; with: number }[] = [];
try {
  const pinned = join(folder, 'prompts.jsonl');
  await writeFile(pinned, `${JSON.stringify({ system: SYSTEM })}\n`);
  const templates = [
    ['its own', SUMMIT],
    ['without thoughts', await withTemplate(folder, withEmptyThought)],
  ] as const;
  for (const [template, model] of templates) {
    const common = ['--model', model, '--max-num-seqs', '8'];
    const agent = new Agent({ keepAlive: true });
    const plain = await startServer(common);
    const ahead = await startServer([...common, '--prefetch-next-turn', '--prefetch', pinned]);
    const [without, withIt] = [
      { first: [], second: [] },
      { first: [], second: [] },
    ] as [Times, Times];
    // The very first turn of each server: what --prefetch is for.
    const cold: Times[] = [without, withIt];
    for (const [index, server] of [plain, ahead].entries()) {
      await converse(server, agent, 0, cold[index] ?? without);
    }
    const start = {
      without: without.first.splice(0)[0] ?? NaN,
      with: withIt.first.splice(0)[0] ?? NaN,
    };
    results.push({ template, turn: 'first of all', ...start });
    for (const times of [without, withIt]) times.second.length = 0;
    for (let round = 1; round <= rounds; round++) {
      const order = round % 2 === 0 ? [plain, ahead] : [ahead, plain];
      for (const server of order) {
        await converse(server, agent, round, server === plain ? without : withIt);
      }
    }
    for (const turn of ['first', 'second'] as const) {
      results.push({ template, turn, without: median(without[turn]), with: median(withIt[turn]) });
    }
    await Promise.all([plain.close(), ahead.close()]);
    agent.destroy();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), rounds, tokens, pauseMs, results }));
} else {
  console.log(`${machineShape()}; answers of some ${tokens} tokens, medians of ${rounds} rounds\n`);
  printTable(
    ['template', 'turn', 'TTFT without, ms', 'with, ms'],
    results.map(({ template, turn, without, with: ahead }) => [
      template,
      turn,
      without.toFixed(1),
      ahead.toFixed(1),
    ]),
  );
}
