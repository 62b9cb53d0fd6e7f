// `npm start` and `npm test` as somebody runs them who has just cloned the repository: the commit that is
// checked out, in a new folder, with an empty home, no caches but npm's downloads, and no programs but
// Node, npm, git and those that every system has. Nothing that continuous integration installs or fetches
// can help. Plain JavaScript without dependencies, because none are installed yet.
//
//   node scripts/fresh-machine.mjs
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const OURS = ['node', 'npm', 'npx', 'git'];
/** Where there are no Debian packages to ask: what POSIX has, and a shell. */
const BASE_SYSTEM =
  '[ basename bash cat chmod chown cksum cmp comm cp cut date dd df diff dirname du echo env expr false ' +
  'find fold getconf grep head hostname id join kill ldd ln logname ls mkdir mkfifo mktemp mv nice nohup ' +
  'nproc od paste pathchk pr printenv printf ps pwd readlink realpath renice rm rmdir sed seq sh sleep ' +
  'sort split stat stty sync tail tar tee test time timeout touch tr true tsort tty uname uniq wc which ' +
  'who xargs yes gzip';
/** Variables of this environment that the network and the terminal need. */
const KEPT =
  /^(LANG|LC_\w+|TERM|NO_COLOR|CI|TMPDIR|TEMP|TMP|SystemRoot|\w+_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+)$/i;
/** The first start installs, compiles and builds. */
const START_MS = 600_000;
const STOP_MS = 60_000;

const folder = mkdtempSync(join(tmpdir(), 'chairlift-fresh-'));
const clone = join(folder, 'chairlift');
const env = freshEnvironment();
/** Seconds since the first command. */
const began = performance.now();
const seconds = () => ((performance.now() - began) / 1000).toFixed(1);
try {
  run('git', ['clone', '--quiet', root, clone], folder);
  await start();
  run('npm', ['test'], clone);
  const left = execFileSync('git', ['status', '--porcelain'], { cwd: clone, encoding: 'utf8' });
  if (left !== '') throw new Error(`the clone is not as it was:\n${left}`);
  console.log(`fresh machine: npm test passed, ${seconds()} s after git clone`);
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function freshEnvironment() {
  const programs = join(folder, 'bin');
  const home = join(folder, 'home');
  for (const each of [programs, home]) mkdirSync(each);
  for (const path of [...OURS.map(find), ...basePrograms()]) {
    const link = join(programs, basename(path));
    if (!existsSync(link)) symlinkSync(path, link);
  }
  const setting = (name) =>
    execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim();
  console.log(`fresh machine: ${readdirSync(programs).length} programs in PATH, an empty home`);
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => KEPT.test(name))),
    PATH: programs,
    HOME: home,
    USERPROFILE: home,
    // Packages that were downloaded before, and where from.
    npm_config_cache: setting('cache'),
    npm_config_registry: setting('registry'),
  };
}

/** @throws Error when it is not in PATH */
function find(program) {
  const paths = (process.env['PATH'] ?? '').split(delimiter).map((each) => join(each, program));
  const path = paths.find((each) => existsSync(each));
  if (path === undefined) throw new Error(`there is no ${program} here`);
  return path;
}

/** Paths of the programs of Debian's essential packages, and of procps; elsewhere of a list. */
function basePrograms() {
  let packages;
  try {
    const format = '--showformat=${Essential} ${Package}\n';
    const all = execFileSync('dpkg-query', ['--show', format], { encoding: 'utf8' }).split('\n');
    packages = all.filter((line) => line.startsWith('yes ')).map((line) => line.slice(4));
  } catch {
    return BASE_SYSTEM.split(' ').flatMap((program) => {
      try {
        return [find(program)];
      } catch {
        return [];
      }
    });
  }
  const files = execFileSync('dpkg-query', ['--listfiles', ...packages, 'procps'], {
    encoding: 'utf8',
  });
  const isProgram = (path) => /\/s?bin$/.test(dirname(path)) && existsSync(path);
  return files.split('\n').filter(isProgram);
}

/** Runs a command; its output is shown. */
function run(program, args, cwd) {
  console.log(`fresh machine: ${[program, ...args].join(' ')}`);
  execFileSync(program, args, { cwd, env, stdio: 'inherit' });
}

/** `npm start`, until it answers; then it is ended by SIGTERM. */
async function start() {
  const port = (await isFree(8000)) ? 8000 : await freePort();
  const args = port === 8000 ? ['start'] : ['start', '--', '--port', String(port)];
  console.log(
    `fresh machine: npm ${args.join(' ')}${port === 8000 ? '' : ' (port 8000 is taken)'}`,
  );
  const started = performance.now();
  // A group of its own: what is left of it when something fails is ended as well.
  const npm = spawn('npm', args, { cwd: clone, env, stdio: 'inherit', detached: true });
  const ended = once(npm, 'exit');
  const group = -(npm.pid ?? NaN);
  try {
    const answer = await Promise.race([
      firstAnswer(port),
      ended.then(([code]) => Promise.reject(new Error(`npm start ended with ${code}`))),
    ]);
    const took = ((performance.now() - started) / 1000).toFixed(1);
    if (answer !== '23 + 45 = 68.') throw new Error(`the first answer is ${answer}`);
    console.log(`fresh machine: "${answer}" ${took} s after npm start`);
    npm.kill('SIGTERM');
    const [code, signal] = await ended;
    // The shell between npm and the server may not pass the signal on: the server finds out by itself.
    await until(() => !isAlive(group), 'the end of the server', STOP_MS);
    console.log(
      `fresh machine: SIGTERM ended npm start (${signal ?? `exit code ${code}`}) and its server`,
    );
    if (signal !== 'SIGTERM' && code !== 0) throw new Error('npm start failed');
  } finally {
    if (isAlive(group)) process.kill(group, 'SIGKILL');
  }
}

/** Answer to README's request as soon as the server is ready. */
async function firstAnswer(port) {
  const url = `http://127.0.0.1:${port}`;
  const isReady = () =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(isReady, 'npm start', START_MS);
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'What is 23 + 45?' }] }),
  });
  if (!response.ok) throw new Error(`the first answer has status ${response.status}`);
  return (await response.json()).choices[0].message.content;
}

/** @throws Error when it is not so after `ms` milliseconds */
async function until(isSo, what, ms) {
  const deadline = performance.now() + ms;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`${what} takes more than ${ms / 1000} s`);
    await sleep(100);
  }
}

/** @param pid below zero for a group of processes */
function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function isFree(port) {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  const isListening = await Promise.race([
    once(server, 'listening').then(() => true),
    once(server, 'error').then(() => false),
  ]).catch(() => false);
  server.close();
  return isListening;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}
