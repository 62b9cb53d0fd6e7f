/**
 * A hub with one model under every name, of the files that lie in a folder itself:
 * `hub.ts ADDRESS PORT FOLDER`. Prints a line when it listens and, when its input ends, `HubSeen` as JSON.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeHub } from '../../support/fake-hub.ts';
import { type HubSeen, LISTENS } from './hub-load.ts';

const [host = '', port = '', folder = ''] = process.argv.slice(2);
const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
const files = names.map(({ name }) => [name, readFileSync(join(folder, name))] as const);
const hub = await FakeHub.start(Object.fromEntries(files), { host, port: Number(port) });
console.log(LISTENS);
process.stdin.resume().on('end', () => {
  const tokens = [...hub.tokens].map((token) => token ?? null);
  const seen: HubSeen = { requests: hub.requests, tokens };
  console.log(JSON.stringify(seen));
  process.exit();
});
