/**
 * Loads copies of an embedded model in turn, more than may be in memory, and tells the memory of all
 * of the server's processes after each eviction: it must come back to what it was.
 *
 *   npx tsx scripts/bench/models-in-turn.ts [--models 20] [--max 3]
 */
import { execFileSync, spawn } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { addressOf } from './lib/server-address.ts';
import { NO_DRAFTS } from './lib/server-process.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: '20' },
    max: { type: 'string', default: '3' },
  },
});
const numModels = Number(values.models);
const maxLoaded = Number(values.max);

const folder = await mkdtemp(join(tmpdir(), 'models-in-turn-'));
for (let at = 0; at < numModels; at++) {
  await cp('models/foothill', join(folder, `model-${at}`), { recursive: true });
}
const server = spawn(
  process.execPath,
  // prettier-ignore
  ['dist/cli/main.js', 'serve', '--port', '0', '--log-level', 'warn', NO_DRAFTS, '--model-repository', folder,
    '--models-max', String(maxLoaded), '--kv-cache-memory', '64m'],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, CHAIRLIFT_CACHE: join(folder, '.cache') },
  },
);
try {
  const url = await addressOf(server);
  console.log('loaded  seconds  processes  resident MiB');
  let full = 0;
  for (let at = 0; at < numModels; at++) {
    const startedAt = performance.now();
    const response = await fetch(`${url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: `model-${at}`, prompt: 'Once upon', max_tokens: 64 }),
    });
    if (!response.ok) throw new Error(await response.text());
    await response.json();
    const seconds = (performance.now() - startedAt) / 1000;
    const engines = enginesOf(server.pid ?? 0);
    const mebibytes = residentOf(engines);
    if (at === maxLoaded - 1) full = mebibytes;
    const change =
      at < maxLoaded ? '' : `${percent(mebibytes / full - 1)} of what ${maxLoaded} took`;
    console.log(
      `${String(at + 1).padStart(6)}  ${seconds.toFixed(2).padStart(7)}  ${String(engines.length).padStart(9)}` +
        `  ${mebibytes.toFixed(0).padStart(12)}  ${change}`,
    );
  }
} finally {
  server.kill();
  await rm(folder, { recursive: true, force: true });
}

function percent(share: number): string {
  return `${share >= 0 ? '+' : ''}${(100 * share).toFixed(1)} %`;
}

/** Process id and memory without what is shared, in MiB, of each engine process. */
function enginesOf(parent: number): readonly number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=']).toString().trim().split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, ppid]) => ppid === parent)
    .map(([pid = 0]) => pid);
}

function residentOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const kilobytes = execFileSync('ps', ['-o', 'rss=', '-p', String(pid)]).toString();
    return sum + Number(kilobytes) / 1024;
  }, 0);
}
