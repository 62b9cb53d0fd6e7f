/**
 * Four keys at mixed legitimate work while all attacks of the suite run in turn: their errors, and times
 * against those without attacks.
 *
 *   npm run build && npx tsx test/hostile/siege.ts [--minutes 60] [--only 'part of a name']
 *
 * Four fifths of the time are attacks, begun again if there is time; the rest is work without them, before.
 * The clients run in this process; each attack in one of its own, with a fifth key. Attacks that need a
 * server with flags of their own have one, on which the same clients work; left out are those whose flags
 * make a server refuse honest clients. Exits with 1 if an honest client had an error.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { machineShape } from '../../scripts/bench/lib/machine.ts';
import { percentile } from '../../scripts/bench/lib/random.ts';
import { printTable } from '../../scripts/bench/lib/table.ts';
import { freePorts } from '../support/free-ports.ts';
import { startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { type Attack, KEYS } from './support/attack.ts';
import { runAttack } from './support/attacker.ts';
import { Client } from './support/client.ts';
import { type Fared, LegitimateClient } from './support/legitimate-traffic.ts';

const ATTACKS = new URL('./attacks/', import.meta.url);
const HONEST_KEYS = ['anna', 'bert', 'cleo', 'dora'];
const FLAGS = ['--threads=1', '--kv-cache-memory=256m', '--shutdown-timeout=1'];
/** With these a server refuses honest clients, or knows none of their keys. */
const REFUSING = /^--(rate-limit|max-queue|max-num-seqs|api-key-file|batch-disk|request-timeout)/;
const SHARE_WITHOUT = 0.2;
const WARM_UP_MS = 3000;

interface Found {
  readonly file: URL;
  readonly attack: Attack;
  /** Flags that its server has besides FLAGS. */
  readonly flags: readonly string[];
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    only: { type: 'string', default: '' },
  },
});
const totalMs = Number(values.minutes) * 60_000;

const nothing = (): Fared => ({ served: 0, firsts: [], gaps: [], errors: [] });
const without = nothing();
const during = nothing();
let tally = nothing();

async function findAttacks(folder: string): Promise<readonly Found[]> {
  const found: Found[] = [];
  const files = readdirSync(ATTACKS).filter((name) => name !== 'surfaces.ts');
  for (const name of files.toSorted()) {
    const file = new URL(name, ATTACKS);
    const { attacks } = (await import(file.href)) as { readonly attacks: readonly Attack[] };
    for (const attack of attacks) {
      const { flags = [] } = attack;
      found.push({ file, attack, flags: typeof flags === 'function' ? flags(folder) : flags });
    }
  }
  return found.filter(({ attack }) => attack.name.includes(values.only));
}

/** Those whose servers have the same flags. */
function grouped(found: readonly Found[]): readonly (readonly Found[])[] {
  const groups = new Map<string, Found[]>();
  for (const each of found) {
    const flags = each.flags.join(' ');
    groups.set(flags, [...(groups.get(flags) ?? []), each]);
  }
  return [...groups.values()];
}

/** Runs `action` beside the four clients, on a server with some flags. */
async function beside(
  folder: string,
  flags: readonly string[],
  action: (url: string) => Promise<void>,
): Promise<void> {
  const [free = 0] = await freePorts(1);
  const own = flags.find((flag) => flag.startsWith('--grpc-port='));
  const all = [
    ...FLAGS,
    `--api-key=${[...HONEST_KEYS, ...Object.values(KEYS)].join(',')}`,
    ...(own === undefined ? [`--grpc-port=${free}`] : []),
    ...(flags.includes('--batch-dir') ? [] : ['--batch-dir', join(folder, 'batches')]),
    ...flags,
  ];
  const server = await startServer(all, { CHAIRLIFT_CACHE: folder });
  const grpcAddress = `127.0.0.1:${own?.split('=')[1] ?? free}`;
  const [, certificateFile] = flags.join('\n').match(/^--tls-cert=(.*)$/m) ?? [];
  const certificate = certificateFile === undefined ? undefined : readFileSync(certificateFile);
  const model = await firstModel(server.url);
  const door = { grpcAddress, certificate, model };
  const over = new AbortController();
  const clients = HONEST_KEYS.map((key) => {
    const client = new Client({ url: server.url, key, localAddress: '127.0.0.1' });
    return new LegitimateClient(client, { key, ...door }, () => tally).work(over.signal);
  });
  try {
    // Requests to a cold server count for nothing.
    const warm = tally;
    tally = nothing();
    await sleep(WARM_UP_MS);
    tally = warm;
    await action(server.url);
  } finally {
    over.abort();
    await Promise.all(clients);
    await server.stop();
  }
}

/** The one that requests get which name none. */
async function firstModel(url: string): Promise<string> {
  const [key = ''] = HONEST_KEYS;
  const client = new Client({ url, key, localAddress: '127.0.0.1' });
  const { text } = await client.send('/v1/models', { method: 'GET' });
  const { data } = JSON.parse(text) as { data: readonly { id: string }[] };
  return data[0]?.id ?? '';
}

const startedAt = performance.now();
const isOver = (): boolean => performance.now() - startedAt > totalMs;
const cache = await temporaryCache();
const errorsOf = new Map<string, number>();
let numMounted = 0;
let leftOut = 0;
try {
  const found = await findAttacks(cache.path);
  const usable = found.filter(({ flags }) => !flags.some((flag) => REFUSING.test(flag)));
  leftOut = found.length - usable.length;
  tally = without;
  await beside(cache.path, [], () => sleep(totalMs * SHARE_WITHOUT));
  tally = during;
  const groups = grouped(usable);
  while (!isOver()) {
    for (const group of groups) {
      if (isOver()) break;
      await beside(cache.path, group[0]?.flags ?? [], async (url) => {
        for (const { file, attack } of group) {
          if (isOver()) break;
          const before = during.errors.length;
          await runAttack(file, { ...attack, hasKeys: true }, url);
          numMounted++;
          const numErrors = during.errors.length - before;
          if (numErrors > 0) errorsOf.set(attack.name, numErrors);
        }
      });
    }
  }
  console.log(
    `${machineShape()}; ${values.minutes} minutes, ${numMounted} attacks mounted of ${usable.length}, ${leftOut} left out\n`,
  );
} finally {
  await cache.remove();
}

const ms = (times: readonly number[], share: number) => percentile(times, share).toFixed(1);
printTable(
  ['', 'served', 'errors', 'TTFT p50, ms', 'p99', 'ITL p50, ms', 'p99'],
  Object.entries({ 'without attacks': without, 'under attack': during }).map(([name, fared]) => [
    name,
    String(fared.served),
    String(fared.errors.length),
    ms(fared.firsts, 0.5),
    ms(fared.firsts, 0.99),
    ms(fared.gaps, 0.5),
    ms(fared.gaps, 0.99),
  ]),
);
for (const [name, count] of errorsOf) console.log(`${count} errors during: ${name}`);
for (const error of [...without.errors, ...during.errors].slice(0, 40)) console.log(error);
process.exitCode = without.errors.length + during.errors.length > 0 ? 1 : 0;
