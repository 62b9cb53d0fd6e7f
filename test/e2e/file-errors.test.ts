/** Each command with each flag that names a file or folder, and something wrong with it: one line. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli, runToEnd } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const at = (name: string) => join(cache.path, name);
const NONE = at('none');
const FILE = at('file');
const FOLDER = at('folder');
const BELOW_FILE = join(FILE, 'x');
const IN_NONE = join(NONE, 'x');
const REQUESTS = at('requests.jsonl');
const PROMPTS = at('prompts.jsonl');
/** Nothing answers there. */
const URL = 'http://127.0.0.1:1';

beforeAll(async () => {
  await mkdir(FOLDER);
  await writeFile(FILE, 'hello');
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
  const request = { custom_id: '1', method: 'POST', url: '/v1/chat/completions', body };
  await writeFile(REQUESTS, JSON.stringify(request));
  await writeFile(PROMPTS, JSON.stringify({ prompt: 'Hi' }));
});

const NOT_FOUND = 'no such file or folder';
const IS_FOLDER = 'it is a folder, not a file';
const NO_FOLDER = `there is no folder ${NONE}`;
const IN_THE_WAY = /a part of its path is a file|a file is in the way/;

interface Case {
  readonly args: readonly string[];
  /** In the first line. */
  readonly says: readonly (string | RegExp)[];
  readonly numLines?: number;
}

/** A flag that names a file to read. */
function inputs(command: readonly string[], flag: string): Case[] {
  return [
    { args: [...command, flag, NONE], says: [`${flag} ${NONE}: ${NOT_FOUND}`] },
    { args: [...command, flag, FOLDER], says: [`${flag} ${FOLDER}: ${IS_FOLDER}`] },
  ];
}

/** A flag that names a file to write. */
function outputs(command: readonly string[], flag: string): Case[] {
  return [
    { args: [...command, flag, IN_NONE], says: [`${flag} ${IN_NONE}: ${NO_FOLDER}`] },
    { args: [...command, flag, FOLDER], says: [`${flag} ${FOLDER}: ${IS_FOLDER}`] },
  ];
}

const serve = ['serve', '--port', '0'];
const bench = ['bench', '--base-url', URL, '--model', 'm'];
const compare = ['eval', '--compare', 'models/summit:int8'];
const optimize = ['optimize', '--model', 'models/summit', '--prune-layers', '1'];
const distill = ['distill-data', '--teacher', 'models/summit'];
const tls = join('test', 'support', 'tls');

const CASES: readonly Case[] = [
  ...inputs(serve, '--config'),
  ...inputs(serve, '--slo'),
  ...inputs(serve, '--prefetch'),
  ...inputs(serve, '--api-key-file'),
  ...inputs([...serve, '--tls-key', join(tls, 'first-key.pem')], '--tls-cert'),
  ...inputs([...serve, '--tls-cert', join(tls, 'first-cert.pem')], '--tls-key'),
  ...inputs(bench, '--dataset-path'),
  ...outputs(bench, '--save-result'),
  ...outputs(bench, '--html'),
  ...inputs(['eval'], '--data'),
  ...inputs(compare, '--data'),
  ...inputs(compare, '--row'),
  ...outputs(compare, '--save-result'),
  ...outputs(compare, '--html'),
  ...inputs([...optimize, '--out', at('out')], '--calibrate'),
  ...inputs([...optimize, '--out', at('out')], '--evaluate'),
  { args: [...optimize, '--out', BELOW_FILE], says: [`--out ${BELOW_FILE}: `, IN_THE_WAY] },
  { args: [...optimize, '--out', FOLDER], says: [`--out ${FOLDER} is there already`] },
  ...inputs([...distill, '--out', at('targets')], '--prompts'),
  ...outputs([...distill, '--prompts', PROMPTS], '--out'),
  ...inputs(['batch', '-o', at('results')], '--input-file'),
  ...outputs(['batch', '-i', REQUESTS], '--output-file'),
  {
    args: ['batch', '-i', REQUESTS, '-o', FILE],
    says: [`--output-file ${FILE}: it holds something other than results of a batch`],
  },
  {
    args: ['build', '--precision', 'int8-static', '--calibrate', NONE],
    says: [`--calibrate ${NONE}: ${NOT_FOUND}`],
  },
  {
    args: [...serve, '--batch-dir', BELOW_FILE],
    says: [`--batch-dir ${BELOW_FILE}: `, IN_THE_WAY],
  },
  {
    args: [...serve, '--prefix-cache-dir', BELOW_FILE],
    says: [`--prefix-cache-dir ${BELOW_FILE}: `, IN_THE_WAY],
  },
  { args: [...serve, '--model-repository', NONE], says: ['--model-repository', NONE, NOT_FOUND] },
  { args: ['list', '--model-repository', NONE], says: ['--model-repository', NONE, NOT_FOUND] },
  // The second line says what may have been meant.
  ...[
    ['show', NONE],
    ['run', NONE, 'Hi', '--no-server'],
    ...['serve', 'generate', 'build', 'eval'].map((command) => [command, '--model', NONE]),
  ].map((args) => ({ args, says: [NONE], numLines: 2 })),
];

const WRITES_TO_CACHE = [
  ['build'],
  ['generate', 'Hi'],
  serve,
  ['eval'],
  ['batch', '-i', REQUESTS, '-o', at('unused')],
  [...distill, '--prompts', PROMPTS, '--out', at('unused.gz')],
  ['run', 'summit', 'Hi', '--no-server'],
];

async function expectOneLine(
  { args, says, numLines = 1 }: Case,
  env: NodeJS.ProcessEnv = cache.env,
): Promise<void> {
  const { code, output } = await runToEnd(args, env);
  const lines = output.trim().split('\n');
  expect(lines).toHaveLength(numLines);
  expect(lines[0]).toMatch(/^chairlift: /);
  for (const text of says) expect(lines[0]).toMatch(text);
  expect(code).toBe(1);
}

describe.concurrent('one line, before any work, for', () => {
  it.each(CASES)('$args', async (wrong) => {
    await expectOneLine(wrong);
  });

  // Where Node's own mkdir tries for ever.
  it.runIf(process.platform === 'linux').each(WRITES_TO_CACHE)(
    '%j with a cache below /proc',
    async (...args) => {
      const path = '/proc/chairlift/cache';
      const says = [
        `the cache ${path} cannot be written to, no folder can be made there`,
        'CHAIRLIFT_CACHE',
      ];
      await expectOneLine({ args, says }, { CHAIRLIFT_CACHE: path });
    },
  );
});

it('checks leave no trace, and harm no file', async () => {
  expect(await readFile(FILE, 'utf8')).toBe('hello');
  expect(await readdir(FOLDER)).toEqual([]);
  expect((await readdir(cache.path)).toSorted()).not.toContain('none');
});

/** Stderr of a command, and how it ends, when its stdout goes nowhere. */
async function endOf(child: ChildProcess) {
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const [code] = await once(child, 'close');
  return { code, errors };
}

describe.concurrent('output that nobody reads', () => {
  it.each([
    [['list']],
    [['show', 'models/summit']],
    [['doctor', '--port', '0', '--offline']],
    [['generate', 'Hi', '--max-tokens', '8']],
    [['run', 'summit', 'Hi', '--no-server', '--max-tokens', '8']],
    [serve],
  ])('ends %j quietly', async (args) => {
    const child = runCli(args, cache.env);
    child.stdout?.destroy();
    const { code, errors } = await endOf(child);
    // Bars, notices and logs are fine.
    expect(errors).not.toMatch(/^chairlift: .*[^.\n]$|^ +at |EPIPE/m);
    expect(code).toBe(128 + 13);
  });

  it.runIf(process.platform === 'linux')('a full disk is an error', async () => {
    const command = 'exec "$0" dist/cli/main.js list > /dev/full';
    const stdio = ['ignore', 'ignore', 'pipe'] as const;
    const child = spawn('sh', ['-c', command, process.execPath], { stdio: [...stdio] });
    const { code, errors } = await endOf(child);
    expect(errors).toBe('chairlift: cannot write: the disk is full\n');
    expect(code).toBe(1);
  });
});
