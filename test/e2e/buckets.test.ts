/** Models of object stores, as users type them: on a store of ours that can misbehave, and on a real one. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { FakeS3 } from '../support/fake-s3.ts';
import { post } from '../support/http-client.ts';
import { LINUX, needs } from '../support/needs.ts';
import { OBJECT_STORE, type ObjectStore, startObjectStore } from '../support/object-store.ts';
import { childrenOf, until } from '../support/processes.ts';
import { runCli, runToEnd, startServer } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MODEL = 's3://models/sums/summit';
const FILES = (await readdir('models/summit')).filter((name) => /\.(json|safetensors)$/.test(name));
const contentOf = (name: string) => readFile(join('models/summit', name));

/** A chat of a server with the model. */
async function answerOf(url: string): Promise<string> {
  const messages = [{ role: 'user', content: 'What is 23 + 45?' }];
  const response = await post(`${url}/v1/chat/completions`, {
    model: 'summit',
    messages,
    temperature: 0,
  });
  return JSON.stringify(await response.json());
}

/** Folder that `pull` prints, behind its progress. */
function lastLine({ output }: { readonly output: string }): string | undefined {
  return output.trim().split('\n').at(-1);
}

let cache: string;
beforeEach(async () => {
  cache = await temporaryDirectory();
});

async function weightsIn(folder: string, ending: string): Promise<string | undefined> {
  const all = await readdir(join(folder, 's3'), { recursive: true }).catch((): string[] => []);
  const found = all.find((path) => path.endsWith(ending));
  return found && join(folder, 's3', found);
}

describe('a store of ours', () => {
  async function storeWithSummit() {
    const files = await Promise.all(
      FILES.map(async (name) => [`sums/summit/${name}`, await contentOf(name)] as const),
    );
    const store = await FakeS3.start(Object.fromEntries(files));
    onTestFinished(() => store.stop());
    return { store, env: { ...store.env, CHAIRLIFT_CACHE: cache } };
  }

  test('a download that is killed goes on where it was', async () => {
    const { store, env } = await storeWithSummit();
    const weights = await contentOf('model.safetensors');
    // Half of the weights come, and nothing after them.
    store.answer = (request, response) => {
      if (request.method !== 'GET' || !request.url?.endsWith('model.safetensors')) return false;
      const half = weights.subarray(0, weights.length / 2);
      const etag = store.objects.get('sums/summit/model.safetensors')?.etag ?? '';
      response.writeHead(200, { etag: `"${etag}"`, 'content-length': weights.length });
      response.write(half);
      return true;
    };
    const child = runCli(['pull', MODEL], env);
    const partial = () => weightsIn(cache, 'model.safetensors.partial');
    await until(async () => {
      const path = await partial();
      return path !== undefined && (await stat(path)).size >= Math.floor(weights.length / 2);
    }, 'half of the download');
    child.kill('SIGKILL');
    store.answer = null;
    store.sent = 0;
    const { code, output } = await runToEnd(['pull', MODEL], env);
    expect({ code, output }).toMatchObject({ code: 0 });
    const path = (await weightsIn(cache, 'model.safetensors')) ?? '';
    expect((await readFile(path)).equals(weights)).toBe(true);
    // No byte of what was there comes again.
    expect(store.sent).toBe(Math.ceil(weights.length / 2));
  });

  test('no secret is printed, or handed to other processes', needs(LINUX), async () => {
    const { store, env } = await storeWithSummit();
    const wrong = { ...env, AWS_SECRET_ACCESS_KEY: 'not-the-secret', AWS_SESSION_TOKEN: 'a-token' };
    const { code, output } = await runToEnd(['pull', MODEL], wrong);
    expect(code).toBe(1);
    expect(output).toMatch(/refuses the list of s3:\/\/models\/sums\/summit \(403/);
    expect(output).not.toMatch(/not-the-secret|a-token|fake-secret/);
    store.isPublic = true;
    const server = await startServer([MODEL], env);
    onTestFinished(async () => void (await server.stop()));
    const children = childrenOf(server.child.pid ?? 0);
    expect(children.length).toBeGreaterThan(0);
    const environments = children.map((pid) => readFile(`/proc/${pid}/environ`, 'utf8'));
    const text = (await Promise.all(environments)).join('\n');
    expect(text).toContain('fake-id');
    expect(text).not.toContain('fake-secret');
  });
});

describe('versitygw', needs(OBJECT_STORE), () => {
  let store: ObjectStore;
  beforeAll(async () => {
    store = await startObjectStore();
    for (const name of FILES) {
      // In parts, as programs upload what is large.
      const partBytes = name.endsWith('.safetensors') ? 5 * 2 ** 20 : undefined;
      await store.put(`sums/summit/${name}`, await contentOf(name), partBytes);
    }
  });
  afterAll(() => store.stop());

  test('a model is served, listed, shown, fitted, changed and removed', async () => {
    const env = { ...store.env, CHAIRLIFT_CACHE: cache };
    const fitted = await runToEnd(['fit', MODEL], env);
    expect(fitted).toMatchObject({ code: 0, output: expect.stringContaining('llama') });
    const checked = await runToEnd(['serve', MODEL, '--check'], env);
    expect(checked).toMatchObject({ code: 0, output: expect.stringContaining('to be downloaded') });
    const server = await startServer([MODEL], env);
    try {
      expect(await answerOf(server.url)).toContain('68');
    } finally {
      await server.stop();
    }
    const listed = await runToEnd(['list'], env);
    expect(listed.output).toMatch(/s3:\/\/models\/sums\/summit +downloaded/);
    expect(await runToEnd(['show', MODEL], env)).toMatchObject({ code: 0 });
    const pulled = await runToEnd(['pull', MODEL], env);
    await store.put('sums/summit/generation_config.json', Buffer.from('{"temperature":0.5}'));
    const again = await runToEnd(['pull', MODEL], env);
    expect(again.code).toBe(0);
    expect(lastLine(again)).not.toBe(lastLine(pulled));
    expect(lastLine(await runToEnd(['pull', MODEL, '--offline'], env))).toBe(lastLine(again));
    const removed = await runToEnd(['rm', MODEL, '--yes'], env);
    expect(removed).toMatchObject({ code: 0, output: expect.stringContaining('removed s3://') });
  });

  test('wrong keys are refused', async () => {
    const env = { ...store.env, CHAIRLIFT_CACHE: cache, AWS_SECRET_ACCESS_KEY: 'wrong' };
    const { code, output } = await runToEnd(['pull', MODEL], env);
    expect(code).toBe(1);
    expect(output).toContain('403 SignatureDoesNotMatch');
  });
});
