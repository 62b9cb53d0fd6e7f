/** One attack on one server: what was seen before and while it was mounted, and what is left of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from '../../support/processes.ts';
import { type ServerProcess, startServer } from '../../support/server-process.ts';
import { faultsAfter } from './aftermath.ts';
import { type Attack, KEYS } from './attack.ts';
import { type AttackReport, runAttack } from './attacker.ts';
import { clientsOf } from './clients.ts';
import { peakMiB, residentMiB } from './resident.ts';
import { type Sight, Watch } from './watch.ts';

export interface Outcome {
  readonly before: Sight;
  readonly during: Sight;
  readonly report: AttackReport;
  /** Most memory that either process took beyond that before the attack; NaN where unknown. */
  readonly frontMiB: number;
  readonly engineMiB: number;
  readonly engineDied: boolean;
  /** Faults seen once it was over. */
  readonly faults: readonly string[];
}

/** One thread for the model, and a cache that holds what the attacks ask for and no more. */
const FLAGS = ['--threads=1', '--kv-cache-memory=128m', '--shutdown-timeout=1'];

/** In which the victim's stream is seen undisturbed, over a text or two. */
const BEFORE_MS = 1500;
/** Time within which leftover work of an attack shows. */
const AFTER_MS = 1000;
const STOP_MS = 5000;

/** @param file the module that exports `attack` in its `attacks` */
export async function mount(file: URL, attack: Attack, env: NodeJS.ProcessEnv): Promise<Outcome> {
  const hasKeys = attack.hasKeys === true;
  const keys = hasKeys ? [`--api-key=${Object.values(KEYS).join(',')}`] : [];
  const { flags = [] } = attack;
  const own = typeof flags === 'function' ? flags(env['CHAIRLIFT_CACHE'] ?? '') : flags;
  const server = await startServer([...FLAGS, ...keys, ...own], env);
  const [front, engine] = [server.child.pid ?? 0, engineOf(server)];
  const watch = new Watch(server.url, hasKeys, [front, engine]);
  try {
    // The first text warms up what computes it, and counts for nothing.
    await watch.take();
    await sleep(BEFORE_MS);
    const before = await watch.take();
    const [frontBefore, engineBefore] = [residentMiB(front), residentMiB(engine)];
    const report = await runAttack(file, attack, server.url);
    await sleep(AFTER_MS);
    const during = await watch.end();
    const { metricsPort } = attack;
    const metricsUrl = metricsPort === undefined ? server.url : `http://127.0.0.1:${metricsPort}`;
    const faults = await faultsAfter(clientsOf(server.url, hasKeys).victim, metricsUrl);
    // Such as Node's of listeners that pile up.
    const warnings = server.output().match(/^.*Warning: .*$/gm) ?? [];
    return {
      before,
      during,
      report,
      frontMiB: peakMiB(front) - frontBefore,
      engineMiB: peakMiB(engine) - engineBefore,
      engineDied: engineOf(server) !== engine,
      faults: [...faults, ...warnings],
    };
  } finally {
    watch.kill();
    await end(server);
  }
}

function engineOf(server: ServerProcess): number {
  return childrenOf(server.child.pid)[0] ?? 0;
}

/** By force if it must be: a server under attack may not hear. */
async function end(server: ServerProcess): Promise<void> {
  const force = setTimeout(() => server.child.kill('SIGKILL'), STOP_MS);
  await server.stop();
  clearTimeout(force);
}
