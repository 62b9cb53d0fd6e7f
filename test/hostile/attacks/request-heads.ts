/** Heads that cost more than they are long. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const ATTACK_MS = 5000;

/** One after the other, as fast as they are answered. */
async function ask(attacker: Client, paths: readonly string[], times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    for (const path of paths) await attacker.try(path);
  }
}

export const attacks: readonly Attack[] = [
  {
    name: 'paths of 15 KB that patterns of routes go through again and again, 60 times',
    async run({ attacker }) {
      const paths = [
        `/v2/models/a${'/versions/'.repeat(1500)}`,
        `/v2/models/a${'/versions/a'.repeat(1360)}`,
        `/v2/repository/models/${'load/'.repeat(3000)}`,
        `/v1/${'%E0%A4%A'.repeat(1700)}`,
      ];
      await ask(attacker, paths, 60);
    },
  },
  {
    name: 'paths of models within the limits, and percent signs that encode nothing, 1,000 each',
    async run({ attacker }) {
      const models = [
        `/v2/models/a${'/versions/a'.repeat(14)}`,
        `/v2/models/${'versions/'.repeat(28)}`,
        `/v2/models/${'a'.repeat(1990)}/versions/1/ready`,
        `/v2/repository/models/${'load/'.repeat(27)}`,
      ];
      await ask(attacker, models, 1000);
      const broken = `/v1/${'%E0%A4%A'.repeat(250)}`;
      await ask(attacker, [broken], 1000);
      const { status } = await attacker.send(broken);
      return status === 400 ? [] : [`a broken encoding got ${status}`];
    },
  },
  {
    name: '/docs under names with the patterns of a replacement',
    hasKeys: true,
    async run({ attacker }) {
      const names = [1, 20, 120, 280].map((times) => '$`'.repeat(times));
      const tries = [...names, ...names].map(async (host) => {
        const socket = await attacker.connect();
        socket.write(`GET /docs HTTP/1.1\r\nHost: a${host}\r\n\r\n`);
        await sleep(ATTACK_MS);
        socket.destroy();
      });
      await Promise.all(tries);
    },
  },
];
