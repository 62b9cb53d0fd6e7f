/**
 * Cost of strings' bounds with a large vocabulary: milliseconds to compile, and from a token to the
 * mask after it, for texts of random tokens. Once as schemas are compiled, with characters counted beside
 * the grammar, and once with a rule for each character (`exact`).
 *
 *   npx tsx scripts/bench/bounded-strings.ts [--vocabulary cl100k_base|o200k_base] [--tokens 400]
 *     [--schema "maxLength 100"] [--exact]
 */
import { parseArgs } from 'node:util';
import { byteLevel } from '../../src/front/grammars/grammar-vocabulary.ts';
import { GrammarThread } from '../../src/grammar/grammar-thread.ts';
import { exactSchemaToEbnf, schemaToEbnf } from '../../src/grammar/schema-ebnf.ts';
import { SharedMatch } from '../../src/grammar/shared-match.ts';
import { toolCallsEbnf } from '../../src/grammar/tool-calls-ebnf.ts';
import { toolCallFormat } from '../../test/support/chat-formats.ts';
import { machineShape } from './lib/machine.ts';
import { median, printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    vocabulary: { type: 'string', default: 'cl100k_base' },
    tokens: { type: 'string', default: '400' },
    schema: { type: 'string', default: '' },
    exact: { type: 'boolean', default: false },
  },
});

const person = (maxLength: number) => ({
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, maxLength },
    notes: { type: 'array', items: { type: 'string', maxLength: maxLength * 2 }, minItems: 2 },
    email: { anyOf: [{ type: 'string', maxLength: maxLength + 1 }, { type: 'null' }] },
  },
  required: ['name', 'notes', 'email'],
});

const SCHEMAS: Readonly<Record<string, object>> = {
  'no bound': { type: 'string' },
  'maxLength 20': { type: 'string', maxLength: 20 },
  'maxLength 100': { type: 'string', maxLength: 100 },
  'maxLength 500': { type: 'string', maxLength: 500 },
  'pattern of 1 to 64': { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' },
  'pattern, maxLength 200': { type: 'string', pattern: '^[^@]+$', maxLength: 200 },
  'pattern of Cyrillic': { type: 'string', pattern: '^[а-яё ]{1,64}$' },
  'pattern without spaces': { type: 'string', pattern: '^\\S+$', maxLength: 200 },
  'email, maxLength 40': { type: 'string', format: 'email', maxLength: 40 },
  'minLength 50': { type: 'string', minLength: 50 },
  'object, 50 to 100': person(50),
  'tool, 50 to 100': person(50),
  'tool of qwen3_coder, 50 to 100': person(50),
  'tool of qwen3_coder, 2000': person(2000),
  'list of 100, maxLength 60': {
    type: 'array',
    items: { type: 'string', maxLength: 60 },
    maxItems: 100,
  },
};

/** Comes with a development dependency. Its ranks are base64, by lines that begin with their first id. */
async function readTokens(name: string): Promise<string[]> {
  const { default: ranks } = (await import(`js-tiktoken/ranks/${name}`)) as {
    default: { bpe_ranks: string };
  };
  return ranks.bpe_ranks.split('\n').flatMap((line) => {
    const [, , ...tokens] = line.split(' ');
    return tokens.map((token) => byteLevel(Buffer.from(token, 'base64')));
  });
}

const tokens = [...(await readTokens(values.vocabulary)), ''];
const eos = tokens.length - 1;
const vocabulary = { tokens, vocabSize: tokens.length, eosTokenIds: [eos] };

/** Always the same. */
let state = 1;
function draw(below: number): number {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

function anyOf(mask: Int32Array): number {
  const allowed: number[] = [];
  for (let id = 0; id < tokens.length; id++) {
    if (((mask[id >>> 5] ?? 0) >>> (id & 31)) & 1) allowed.push(id);
  }
  return allowed[draw(allowed.length)] ?? eos;
}

interface Measured {
  readonly compileMs: number;
  readonly maskMs: readonly number[];
}

/** Schemas of tools are those of their arguments, in a call that must be. */
function ebnfOf(name: string, schema: object): string {
  if (!name.startsWith('tool')) {
    return values.exact ? exactSchemaToEbnf(schema) : schemaToEbnf(schema);
  }
  const { layout } = toolCallFormat(name.includes('qwen3_coder') ? 'qwen3_coder' : 'hermes');
  const tools = [{ function: { name: 'add', parameters: schema } }];
  return toolCallsEbnf({ layout, tools, isRequired: true, parallel: false }, !values.exact);
}

async function measure(text: string, thread: GrammarThread): Promise<Measured> {
  const start = performance.now();
  await thread.compile({ form: { kind: 'compiled', text } });
  const compileMs = performance.now() - start;
  const maskMs: number[] = [];
  for (let id = 1; maskMs.length < Number(values.tokens); id++) {
    const match = SharedMatch.allocate({ vocabSize: tokens.length, maxDraftTokens: 0 });
    thread.post({ type: 'open', id, ebnf: text, tokenIds: new Int32Array(), match: match.data });
    match.waitForMask(0, 0, 60_000);
    for (let count = 1; count <= 200; count++) {
      const mask = match.mask(0);
      if (mask === null) throw new Error('the text cannot go on');
      const tokenId = anyOf(mask);
      if (tokenId === eos) break;
      const from = performance.now();
      thread.post({ type: 'accept', tokens: [[id, tokenId]], looksAhead: false });
      if (!match.waitForMask(0, count, 60_000)) throw new Error('a mask takes too long');
      maskMs.push(performance.now() - from);
    }
    await thread.close(id);
  }
  return { compileMs, maskMs };
}

// Threads keep no process alive but while they compile.
const alive = setInterval(() => {}, 60_000);
const rows: string[][] = [];
for (const [name, schema] of Object.entries(SCHEMAS)) {
  if (!name.includes(values.schema)) continue;
  const thread = new GrammarThread({ vocabulary, timeoutMs: 120_000, onEnd: () => {} });
  // Waits until the thread is ready.
  await thread.compile({ form: { kind: 'json_schema', schema: { type: 'null' } } });
  const { compileMs, maskMs } = await measure(ebnfOf(name, schema), thread);
  const sorted = maskMs.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
  const most = sorted.at(-1) ?? 0;
  rows.push([
    name,
    compileMs.toFixed(0),
    ...[median(maskMs), p99, most].map((ms) => ms.toFixed(2)),
  ]);
  thread.terminate('measured');
}
clearInterval(alive);
console.log(`${values.vocabulary}, ${tokens.length} tokens; ${machineShape()}\n`);
printTable(['schema', 'compile ms', 'mask ms', 'p99', 'most'], rows);
