/** Batches of clients whose key is gone, and the operator's view of all. */
import { join } from 'node:path';
import { APIError } from 'openai';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ApiKeys, digestOf, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { LIMITS } from '../../../src/limits.ts';
import { says, useServers } from '../support/test-server.ts';
import { clientOf, ended, lines, start, useServices } from './support.ts';

const server = useServers();
const service = useServices();

const BOTH = unnamedKeys(['key-a', 'key-b']);
const B_ALONE = unnamedKeys(['key-b']);

const keysOf = (users = BOTH) => new ApiKeys(users, digestOf('admin'));

const folderOf = ({ files }: Awaited<ReturnType<typeof service>>) =>
  join(files.pathOf('x'), '../..');

/** A batch of a, some of which is done. */
async function begun(keys: ApiKeys) {
  const batches = await service({ maxInFlight: 2 });
  const target = await server({ batches, keys, script: says('Hello!'), engine: { delayMs: 3 } });
  const a = clientOf(target, 'key-a');
  const { id } = await start(a, lines(60));
  await vi.waitFor(async () => {
    expect((await a.batches.retrieve(id)).request_counts?.completed).toBeGreaterThan(3);
  });
  return { target, batches, a, id };
}

test('without its key a batch stands, others run, and it goes on with the key', async () => {
  const keys = keysOf();
  const { target, batches, a, id } = await begun(keys);
  keys.replace(B_ALONE);
  await batches.reconcile();
  const numRequests = target.engine.requests.length;
  const b = clientOf(target, 'key-b');
  const other = await start(b, lines(3));
  expect((await ended(b, other.id)).request_counts?.completed).toBe(3);
  expect(target.engine.requests).toHaveLength(numRequests + 3);
  keys.replace(BOTH);
  await batches.reconcile();
  const whole = await ended(a, id);
  expect([whole.status, whole.request_counts]).toEqual([
    'completed',
    { total: 60, completed: 60, failed: 0 },
  ]);
});

test('the operator sees and cancels what is left of a client without a key, also after a restart', async () => {
  const first = await begun(keysOf());
  await first.batches.close();
  const batches = await service({ folder: folderOf(first.batches) });
  const target = await server({ batches, keys: keysOf(B_ALONE), script: says('Hello!') });
  const b = clientOf(target, 'key-b');
  const admin = clientOf(target, 'admin');
  const statusOf = async (promise: Promise<unknown>) =>
    promise.catch((error: unknown) => (error instanceof APIError ? error.status : error));
  expect(await statusOf(b.batches.retrieve(first.id))).toBe(404);
  expect(await statusOf(b.batches.cancel(first.id))).toBe(404);
  expect((await b.batches.list()).data).toEqual([]);
  expect((await admin.batches.list()).data.map(({ id }) => id)).toEqual([first.id]);
  expect((await admin.batches.retrieve(first.id)).status).toBe('in_progress');
  const other = await start(b, lines(20));
  expect((await ended(b, other.id)).status).toBe('completed');
  await admin.batches.cancel(first.id);
  expect((await ended(admin, first.id)).status).toBe('cancelled');
  expect(target.engine.requests).toHaveLength(20);
});

test('a batch without a key expires as any other', async () => {
  let time = 1_700_000_000;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const keys = keysOf();
  const batches = await service({ now: () => time, maxInFlight: 2 });
  const engine = { heldAfter: 1, numFree: 5 };
  const target = await server({ batches, keys, script: says('Hello!'), engine });
  const { id } = await start(clientOf(target, 'key-a'), lines(30));
  await vi.waitFor(() => expect(target.engine.requests.length).toBeGreaterThan(5));
  keys.replace(B_ALONE);
  await batches.reconcile();
  time += LIMITS.batchSeconds;
  vi.advanceTimersByTime(60_000);
  expect((await ended(clientOf(target, 'admin'), id)).status).toBe('expired');
});
