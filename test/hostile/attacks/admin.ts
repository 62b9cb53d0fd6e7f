/** Rights of the operator: with a user's key, from a foreign page, and with names that are paths. */
import { join } from 'node:path';
import type { Attack } from '../support/attack.ts';
import type { Client, SendOptions } from '../support/client.ts';

const ROUTES: readonly (readonly [method: string, path: string, body?: object])[] = [
  ['GET', '/admin/state'],
  ['GET', '/admin/log-level'],
  ['POST', '/admin/log-level', { level: 'trace' }],
  ['GET', '/slots'],
  ['POST', '/sleep', {}],
  ['POST', '/wake_up', {}],
  ['GET', '/is_sleeping'],
  ['POST', '/v1/load_lora_adapter', { lora_name: 'evil', lora_path: 'evil' }],
  ['POST', '/v1/unload_lora_adapter', { lora_name: 'evil' }],
];

async function tryAll(client: Client, options: SendOptions): Promise<readonly string[]> {
  const breaches: string[] = [];
  for (const [method, path, body] of ROUTES) {
    const { status } = await client.send(path, { ...options, method, body });
    if (status !== 403) breaches.push(`${method} ${path} answered ${status}`);
  }
  return breaches;
}

export const attacks: readonly Attack[] = [
  {
    name: "a user's key asks for what only the operator may",
    hasKeys: true,
    run: ({ attacker }) => tryAll(attacker, {}),
  },
  {
    name: 'a foreign page asks for it',
    run: ({ attacker }) => tryAll(attacker, { headers: { origin: 'http://evil.example' } }),
  },
  {
    name: 'a proxy on this machine passes such requests on',
    run: ({ attacker }) => tryAll(attacker, { headers: { 'x-forwarded-for': '203.0.113.9' } }),
  },
  {
    name: "adapters are loaded from outside of the operator's folder",
    flags: (folder) => ['--lora-dir', join(folder, 'content-hashes'), '--max-lora-rank', '16'],
    async run({ attacker }) {
      const breaches: string[] = [];
      const paths = [
        '../models',
        '/etc',
        'a/../../models',
        '..\\models',
        'hf:owner/name',
        '\0',
        '.',
      ];
      for (const [at, path] of [...paths, 'x'.repeat(100_000)].entries()) {
        const body = { lora_name: `evil-${at}`, lora_path: path };
        const { status, text } = await attacker.send('/v1/load_lora_adapter', { body });
        if (status < 400 || text.includes('passwd')) breaches.push(`${path}: ${status} ${text}`);
      }
      return breaches;
    },
  },
  {
    name: '/slots and /admin/state, 2,000 times',
    async run({ attacker }) {
      const paths = ['/slots', '/admin/state', '/v1/requests', '/v1/usage'];
      const lanes = Array.from({ length: 20 }, async (_, lane) => {
        for (let count = 0; count < 100; count++) await attacker.try(paths[lane % 4] ?? '');
      });
      await Promise.all(lanes);
    },
  },
];
