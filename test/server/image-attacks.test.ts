/** The attacks of test/hostile on images of chats, on a server whose model sees: there they get further. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, afterAll, expect, test } from 'vitest';
import { attacks } from '../hostile/attacks/chat-images.ts';
import { KEYS } from '../hostile/support/attack.ts';
import { Client } from '../hostile/support/client.ts';
import { useServices } from './batches/support.ts';
import { useServers } from './support/test-server.ts';

const server = useServers();
const service = useServices();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'image-attacks-'));
});
afterAll(() => rm(folder, { recursive: true }));

test.each(attacks)('$name', { timeout: 60_000 }, async (attack) => {
  const { flags = [], hasKeys } = attack;
  const given = new Map(
    (typeof flags === 'function' ? flags(folder) : flags).map((flag) => {
      const [name = '', value = ''] = flag.split('=');
      return [name, value] as const;
    }),
  );
  const target = await server({
    imageMark: '<image>',
    maxModelLen: 8192,
    images: {
      allowedDomains: given.get('--allowed-media-domains')?.split(',') ?? [],
      allowedLocalPath: given.get('--allowed-local-media-path') ?? null,
    },
    ...(given.has('--batch-dir') ? { batches: await service() } : {}),
    ...(hasKeys === true ? { config: { apiKeys: Object.values(KEYS) } } : {}),
  });
  const clientOf = (key: string) =>
    new Client({
      url: target.url,
      key: hasKeys === true ? key : null,
      localAddress: '127.0.0.1',
    });
  const breaches = await attack.run({
    attacker: clientOf(KEYS.attacker),
    victim: clientOf(KEYS.victim),
  });
  expect(breaches ?? []).toEqual([]);
});
