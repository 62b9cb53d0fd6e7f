/** /slots/{id} of llama-server: texts that are saved, computed again and forgotten. */
import { describe, expect, test } from 'vitest';
import { bytesOfText } from '../../src/front/slots/saved-text.ts';
import { SlotFiles } from '../../src/front/slots/slot-files.ts';
import { SlotTexts } from '../../src/front/slots/slot-texts.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { errorOf, post } from './support/client.ts';
import {
  says,
  type TestServer,
  type TestServerOptions,
  useServers,
} from './support/test-server.ts';

const server = useServers();
const SAVED = { filename: 'a.bin' };
const headersOf = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

async function saving(options: TestServerOptions = {}, given?: string): Promise<TestServer> {
  const path = given ?? (await temporaryDirectory());
  const target = await server({ script: says('yes'), ...options });
  const bounds = { maxBytes: 1e9, maxAgeMs: 1e9, model: 'M', maxTokens: 256 };
  const slots = { texts: new SlotTexts(2), files: new SlotFiles({ path, ...bounds }) };
  Object.assign(target.runtime, { slots });
  return target;
}

const ask = (
  target: TestServer,
  prompt: string,
  fields: object = {},
  ...rest: [ReturnType<typeof headersOf>] | []
) => post(target, '/completion', { prompt, ...fields }, ...rest);

describe('/slots/{id}', () => {
  test('saves a text, and another server computes it before its next request', async () => {
    const path = await temporaryDirectory();
    const target = await saving({}, path);
    await ask(target, 'Hi there', { cache_salt: 'mine' });
    const saved = await post(target, '/slots/0?action=save', SAVED);
    // Eight characters, three more, and the token that ended the text.
    expect(await saved.json()).toEqual({
      id_slot: 0,
      filename: 'a.bin',
      n_saved: 12,
      n_written: bytesOfText(12),
      timings: { save_ms: expect.any(Number) },
    });
    const later = await saving({}, path);
    const restored = await post(later, '/slots/1?action=restore', SAVED);
    expect(await restored.json()).toEqual({
      id_slot: 1,
      filename: 'a.bin',
      n_restored: 12,
      n_read: bytesOfText(12),
      timings: { restore_ms: expect.any(Number) },
    });
    const [request] = later.engine.requests;
    expect(request).toMatchObject({ background: 'prefetch', cacheSalt: 'mine', maxTokens: 1 });
    const ids = [...(request?.promptTokenIds ?? [])];
    const text = later.runtime.tokenizer.decode(ids.slice(0, -1), { skipSpecialTokens: false });
    expect(text).toBe('Hi thereyes');
    // It is the slot's again.
    expect((await post(later, '/slots/1?action=save', { filename: 'b' })).status).toBe(200);
  });

  test('keeps the slots apart that requests name, and forgets what is erased', async () => {
    const target = await saving();
    await ask(target, 'Hi', { id_slot: 1 });
    await ask(target, 'Hello', { id_slot: -1 });
    const messages = [{ role: 'user', content: 'Hi' }];
    await post(target, '/v1/chat/completions', { messages, id_slot: 1 });
    await post(target, '/v1/completions', { prompt: ['a', 'b'], id_slot: 1 });
    const saved = async (slot: number) =>
      (await post(target, `/slots/${slot}?action=save`, SAVED)).json();
    expect(await saved(0)).toMatchObject({ n_saved: 'Hello'.length + 4 });
    expect(await saved(1)).toMatchObject({ n_saved: 'user: Hi\nassistant: '.length + 4 });
    const erase = (slot: number, body?: object) =>
      fetch(`${target.url}/slots/${slot}?action=erase`, {
        method: 'POST',
        ...(body && { body: JSON.stringify(body) }),
      });
    expect(await (await erase(1)).json()).toEqual({ id_slot: 1, n_erased: 24 });
    expect(await errorOf(await post(target, '/slots/1?action=save', SAVED), 400)).toBeDefined();
    expect((await post(target, '/slots/1?action=restore', SAVED)).status).toBe(200);
    expect(await (await erase(1, SAVED)).json()).toEqual({ id_slot: 1, n_erased: 24 });
    expect(await errorOf(await post(target, '/slots/1?action=restore', SAVED), 400)).toMatchObject({
      param: 'filename',
    });
  });

  test('is of each key alone', async () => {
    const target = await saving({ config: { apiKeys: ['key-a', 'key-b'] } });
    await ask(target, 'Hi', {}, headersOf('key-a'));
    const send = (key: string, action: string, body: object = SAVED) =>
      post(target, `/slots/0?action=${action}`, body, headersOf(key));
    expect((await send('key-a', 'save')).status).toBe(200);
    const there = await errorOf(await send('key-b', 'restore'), 400);
    expect(there).toEqual(await errorOf(await send('key-b', 'restore', { filename: 'c' }), 400));
    expect((await send('key-b', 'save')).status).toBe(400);
    await send('key-b', 'erase');
    expect(await (await send('key-a', 'restore')).json()).toMatchObject({ n_restored: 6 });
    expect(target.engine.requests.at(-1)?.cacheSalt).toContain('#');
    expect((await post(target, '/slots/0?action=save', SAVED)).status).toBe(401);
  });

  test.each([
    ['/slots/0?action=save', {}, 'filename'],
    ['/slots/0?action=save', { filename: '../a' }, 'filename'],
    ['/slots/0?action=save', { filename: '/etc/passwd' }, 'filename'],
    ['/slots/0?action=save', { filename: '..' }, 'filename'],
    ['/slots/0?action=save', { filename: 'a\0b' }, 'filename'],
    ['/slots/0?action=save', { filename: 'a\\b' }, 'filename'],
    ['/slots/0?action=save', { filename: 'a'.repeat(129) }, 'filename'],
    ['/slots/0?action=restore', { filename: 'never' }, 'filename'],
    ['/slots/2?action=save', SAVED, 'id'],
    ['/slots/-1?action=save', SAVED, 'id'],
    ['/slots/1e0?action=save', SAVED, 'id'],
    ['/slots/0?action=copy', SAVED, 'action'],
    ['/slots/0', SAVED, 'action'],
  ])('refuses %s %j', async (path, body, param) => {
    const target = await saving();
    await ask(target, 'Hi');
    expect(await errorOf(await post(target, path, body), 400)).toMatchObject({ param });
  });

  test('says so where there is no folder, and where the disk refuses', async () => {
    const target = await server();
    expect(await errorOf(await post(target, '/slots/0?action=save', SAVED), 501)).toMatchObject({
      code: 'slots_not_kept',
      message: expect.stringContaining('--prefix-cache-dir'),
    });
    // The folder's place is taken by a file.
    const failing = await saving({}, import.meta.filename);
    await ask(failing, 'Hi');
    expect(await errorOf(await post(failing, '/slots/0?action=save', SAVED), 503)).toMatchObject({
      code: 'storage_failed',
    });
  });
});
