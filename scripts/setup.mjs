// Makes `npm start` and `npm test` work on a fresh clone: installs what is missing, builds what is
// stale, then hands over. Plain JavaScript without dependencies, because it runs before there are any.
// npm's own pre/post hooks can't do this: .npmrc turns install scripts off, and the hooks with them.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  filesBelow,
  hash,
  hashOfFiles,
  isMadeFrom,
  PROGRAM_STAMP,
  programSources,
  readIfThere,
  root,
} from './built-from.mjs';

const installStamp = join(root, 'node_modules', '.chairlift-installed');
const output = join(root, 'dist');
/** In `dist`, what is not compiled from `src`. */
const OF_PAGE = ['web', '.web-built-from'];

const [command = 'build', ...args] = process.argv.slice(2);
const parent = process.ppid;

checkNode();
install();
build();
if (command === 'start') await start();
if (command === 'test') await test();

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  fail(`Chairlift needs Node.js 20.19 or newer; this is ${process.version}.`);
}

function install() {
  const wanted = hash(
    [readFileSync(join(root, 'package-lock.json'))],
    `${process.platform}-${process.arch}`,
  );
  if (readIfThere(installStamp) === wanted) return;
  console.error('chairlift: installing packages (once) ...');
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  writeFileSync(installStamp, wanted);
}

function build() {
  buildIfStale(PROGRAM_STAMP, programSources(), 'compiling TypeScript', () => {
    for (const name of existsSync(output) ? readdirSync(output) : []) {
      if (!OF_PAGE.includes(name)) rmSync(join(output, name), { recursive: true, force: true });
    }
    // `npm test` checks all types afterwards; whoever starts a server need not wait for that.
    const types = command === 'build' ? [] : ['--noCheck'];
    run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'src', ...types]);
    removeOtherTypes();
  });
  // Its own stamp: most changes leave the page as it is.
  const page = [
    'package-lock.json',
    'src/client/resumable-stream.ts',
    ...filesBelow('src/bench'),
    ...filesBelow('web'),
  ];
  buildIfStale('.web-built-from', page, 'building the page', () => {
    run(process.execPath, [
      join(root, 'node_modules/vite/bin/vite.js'),
      'build',
      '--config',
      'web/vite.config.ts',
      '--logLevel',
      'warn',
    ]);
  });
}

/** Leaves the types that package.json's exports lead to: nobody can import others. */
function removeOtherTypes() {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const wanted = Object.values(exports).flatMap(({ types }) => (types ? [join(root, types)] : []));
  for (const file of wanted) {
    const imports = readFileSync(file, 'utf8').matchAll(
      /(?:from |import\()["'](\.[^"']+)\.ts["']/g,
    );
    for (const [, path] of imports) {
      const imported = join(dirname(file), `${path}.d.ts`);
      if (!wanted.includes(imported)) wanted.push(imported);
    }
  }
  for (const file of filesBelow('dist').map((path) => join(root, path))) {
    if (file.endsWith('.d.ts') && !wanted.includes(file)) rmSync(file);
  }
}

function buildIfStale(stampName, sources, what, make) {
  if (isMadeFrom(stampName, sources)) return;
  const stamp = join(output, stampName);
  const wanted = hashOfFiles(sources);
  console.error(`chairlift: ${what} ...`);
  rmSync(stamp, { force: true });
  make();
  mkdirSync(output, { recursive: true });
  writeFileSync(stamp, wanted);
}

/** Runs the server in this very process, so that signals and the exit code are its own. */
async function start() {
  // Ended while we were building: what it started must not outlive it.
  if (process.ppid !== parent) process.exit(1);
  process.argv = [process.execPath, join(root, 'dist/cli/main.js'), 'serve', ...args];
  await import('../dist/cli/main.js');
}

async function test() {
  // Beside the tests, which leave cores idle while they wait. Its output comes at once, not between theirs.
  const checking = begin('npm', ['run', '-s', 'check'], 'pipe');
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const testing = begin(process.execPath, [vitest, 'run', ...args], 'inherit');
  const said = [];
  for (const stream of [checking.stdout, checking.stderr]) {
    stream.on('data', (part) => said.push(part));
  }
  checking.once('close', (code) => {
    process.stderr.write(code === 0 ? 'chairlift: npm run check passed\n' : Buffer.concat(said));
  });
  const ends = [checking, testing].map((child) => once(child, 'close'));
  const [[checked], [tested]] = await Promise.all(ends);
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const others = Object.keys(scripts).filter((name) => name.startsWith('test:'));
  const commands = others.map((name) => `npm run ${name}`).join(', ');
  console.error(`chairlift: longer suites (CONTRIBUTING.md says what they need): ${commands}`);
  if (checked !== 0) fail('chairlift: npm run check FAILED, see its output above');
  if (tested !== 0) process.exit(tested ?? 1);
}

function run(program, argv) {
  const options = { cwd: root, stdio: 'inherit', shell: needsShell(program) };
  const { status, error, signal } = spawnSync(program, argv, options);
  if (error) fail(`could not run ${program}: ${error.message}`);
  if (signal) fail(`${program} was ended by ${signal}`);
  if (status !== 0) process.exit(status ?? 1);
}

function begin(program, argv, stdio) {
  return spawn(program, argv, { cwd: root, stdio, shell: needsShell(program) });
}

/** npm is a .cmd file on Windows, which only a shell can start. */
function needsShell(program) {
  return process.platform === 'win32' && program === 'npm';
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
