/** Runs an attack in a process of its own: what it computes there holds up nothing that is measured. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type Attack, MAX_ATTACK_MS } from './attack.ts';

export interface AttackReport {
  /** Events that should not have happened, in words. */
  readonly breaches: readonly string[];
  /** Statuses of the attacker's answers, and how many of each; 0 is no answer. */
  readonly statuses: readonly (readonly [status: number, count: number])[];
}

/**
 * @param file the module that exports the attack in its `attacks`
 * @returns its report, or that it had to be cut off
 */
export async function runAttack(file: URL, attack: Attack, url: string): Promise<AttackReport> {
  const argv = [file.href, attack.name, url, String(attack.hasKeys === true)];
  const child = fork(new URL('./attack-main.ts', import.meta.url), argv, {
    execArgv: ['--import', 'tsx'],
  });
  let report: AttackReport = { breaches: ['the attack got no end'], statuses: [] };
  child.on('message', (message: AttackReport) => (report = message));
  const cut = setTimeout(() => child.kill('SIGKILL'), MAX_ATTACK_MS);
  await once(child, 'exit');
  clearTimeout(cut);
  return report;
}
