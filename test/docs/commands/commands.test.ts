/**
 * Every command of the documentation, typed in a fresh clone or where the package is installed, with an
 * empty home, at the ports that the documentation says. `npm run test:docs -- -t docs/api.md` is a page.
 */
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { commandsOf, isShell, type Mark, markOf, type Place } from '../support/marks.ts';
import { type Block, blocksOf, inlineCode, PAGES, readPage } from '../support/pages.ts';
import { LINUX_X64, needs } from '../../support/needs.ts';
import { REAL_MODEL } from '../../support/real-model.ts';
import { Home } from './support/home.ts';
import { Shell } from './support/shell.ts';

const PORT = 8000;
const FLAGS_ONLY = `--import=${resolve('test/docs/commands/support/flags-only.mjs')}`;
/** Commands in running text whose flags can be read without running them. */
const SCRIPT = /^(npx tsx scripts\/|npm run [\w:]+ -- )/;
/** Words in capitals, and dots, stand for something else. */
const PLACEHOLDER = /\.\.\.|\b[A-Z]{3,}\b(?!_)/;

interface Runnable extends Block {
  readonly mark: Extract<Mark, { kind: 'run' }>;
}

/** Blocks that belong together: those after the first are typed while its server runs. */
type Group = readonly Runnable[];

const numbers = { run: 0, flags: 0, 'not run': 0, all: 0 };
const shells: Shell[] = [];
let home: Home;

beforeAll(async () => {
  const server = createServer().listen(PORT, '127.0.0.1');
  await once(server, 'listening');
  server.close();
  home = await Home.make();
});

/** Servers that a failure leaves behind would keep their port. */
afterEach(() => {
  for (const shell of shells.splice(0)) shell.kill();
});

afterAll(async () => {
  await home?.remove();
  const { run, flags, 'not run': notRun, all } = numbers;
  console.log(
    `*** commands of the documentation: run ${run}, flags checked ${flags}, marked not run ${notRun}, of ${all}`,
  );
});

async function type(text: string, place: Place, env: NodeJS.ProcessEnv = {}): Promise<Shell> {
  const cwd = await home.place(place);
  const typed = text.replaceAll('<this repository>', resolve('.'));
  const shell = new Shell(typed, cwd, { ...home.env, ...env });
  shells.push(shell);
  return shell;
}

/** Commands of a shell, or a program, which Node.js or Python runs. */
async function start({ text, language, mark }: Runnable): Promise<Shell> {
  if (/^(js|ts)$/.test(language)) {
    const file = 'documented.mts';
    await writeFile(join(await home.place(mark.where), file), text);
    return type(`npx tsx ${file}`, mark.where);
  }
  return type(text, mark.where);
}

async function expectToRun(block: Runnable): Promise<void> {
  const shell = await start(block);
  const numServers = await shell.serveToEnd();
  expect(numServers > 0, shell.output).toBe(block.mark.serves);
  if (block.mark.prints !== null) expect(shell.output).toContain(block.mark.prints);
}

async function expectGroup(group: Group): Promise<void> {
  const [first] = group;
  if (first === undefined || (group.length === 1 && !first.mark.server)) {
    for (const block of group) await expectToRun(block);
    return;
  }
  const hasOwn = !first.mark.server;
  const server = hasOwn ? await start(first) : await type('npm start', 'clone');
  expect(await server.nextServer(), server.output).toBe(true);
  for (const block of hasOwn ? group.slice(1) : group) await expectToRun(block);
  await server.endServer();
  await server.end();
}

async function expectFlags(command: string): Promise<void> {
  await (await type(command, 'clone', { NODE_OPTIONS: FLAGS_ONLY })).end();
}

function groupsOf(blocks: readonly Runnable[]): Group[] {
  const groups: Runnable[][] = [];
  for (const block of blocks) {
    const last = groups.at(-1);
    const hasServer = last?.[0]?.mark.serves === true || last?.[0]?.mark.server === true;
    if (block.mark.server && hasServer) last?.push(block);
    else groups.push([block]);
  }
  return groups;
}

const countOf = (block: Block) => (isShell(block) ? commandsOf(block.text).length : 1);
const numCommands = (blocks: readonly Block[]) =>
  blocks.reduce((sum, block) => sum + countOf(block), 0);

/** Blocks that are commands or programs. */
const commandBlocks = (page: string) =>
  blocksOf(page)
    .filter(({ language }) => language !== '')
    .map((block) => ({ ...block, mark: markOf(block) }))
    .filter(({ mark }) => mark.kind !== 'is');

const flagsIn = (page: string) =>
  [...new Set(inlineCode(readPage(page)))].filter(
    (code) => SCRIPT.test(code) && !PLACEHOLDER.test(code),
  );

const isChecked = (page: string) =>
  flagsIn(page).length > 0 || commandBlocks(page).some(({ mark }) => mark.kind !== 'not run');

/** `1/2` is every other page. */
const [part = 1, numParts = 1] = (process.env['CHAIRLIFT_DOCS_PART'] ?? '1/1')
  .split('/')
  .map(Number);
const CHECKED = PAGES.filter(isChecked).filter((_, index) => index % numParts === part - 1);

for (const page of PAGES.filter((each) => !isChecked(each))) {
  numbers['not run'] += numCommands(commandBlocks(page));
  numbers.all += numCommands(commandBlocks(page));
}

describe.each(CHECKED)('%s', needs(LINUX_X64), (page) => {
  const all = commandBlocks(page);
  const runnable = all.filter((block): block is Runnable => block.mark.kind === 'run');

  numbers.all += numCommands(all);
  numbers['not run'] += numCommands(all.filter(({ mark }) => mark.kind === 'not run'));

  for (const group of groupsOf(runnable)) {
    const lines = group.map(({ line }) => line).join(', ');
    const hasRealModel = group.some(({ text }) => text.includes('~/models/'));
    const required = [
      ...group.flatMap(({ mark }) => mark.needs ?? []),
      ...(hasRealModel ? [REAL_MODEL] : []),
    ];
    it(`${lines}: ${group[0]?.text.split('\n')[0]}`, needs(...required), async () => {
      await expectGroup(group);
      numbers.run += numCommands(group);
    });
  }

  const written = all
    .filter(({ mark }) => mark.kind === 'flags only')
    .flatMap(({ text }) => commandsOf(text));
  const inText = flagsIn(page);
  numbers.all += inText.length;
  for (const command of [...written, ...inText]) {
    it(`flags of ${command}`, async () => {
      await expectFlags(command);
      numbers.flags++;
    });
  }
});
