/** The process of one attack: runs it and reports what came of it. */
import type { Attack } from './attack.ts';
import { clientsOf } from './clients.ts';
import type { AttackReport } from './attacker.ts';

const [file = '', name, url = '', hasKeys] = process.argv.slice(2);
const { attacks } = (await import(file)) as { readonly attacks: readonly Attack[] };
const attack = attacks.find((each) => each.name === name);
if (attack === undefined) throw new Error(`${file} has no attack "${name}"`);

const target = clientsOf(url, hasKeys === 'true');
const breaches = (await attack.run(target)) ?? [];
const statuses = [...target.attacker.numByStatus].toSorted(([a], [b]) => a - b);
const report: AttackReport = { breaches, statuses };
process.send?.(report, () => process.exit());
