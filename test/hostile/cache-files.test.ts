/** Built models in the cache that were cut short or damaged: each is built anew, in one line of the log. */
import { readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { stream } from '../support/http-client.ts';
import { startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const body = { prompt: 'Once upon a time', max_tokens: 16, temperature: 0 };

/** Starts a server over the cache, and tells what it says and prints. */
async function serve() {
  const server = await startServer(['--threads=1'], cache.env);
  try {
    const { text } = await stream(`${server.url}/v1/completions`, body);
    return { text, output: server.output() };
  } finally {
    await server.stop();
  }
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => join(entry.parentPath, entry.name));
}

const sound = await serve();
const built = await filesBelow(join(cache.path, 'models'));

const harms: readonly (readonly [string, (file: string) => Promise<void>])[] = [
  ['cut in half', async (file) => truncate(file, (await stat(file)).size >> 1)],
  ['emptied', (file) => truncate(file, 0)],
  ['lost', (file) => rm(file)],
];
const cases = built.flatMap((file) =>
  harms.map(([how, harm]) => [basename(file), how, file, harm] as const),
);

it('has files to harm', () => {
  expect(built.length).toBeGreaterThanOrEqual(3);
});

it.each(cases)(
  '%s is %s: the server starts, and says the same',
  async (_name, _how, file, harm) => {
    await harm(file);
    const { text, output } = await serve();
    expect(text).toBe(sound.text);
    expect(output).not.toMatch(/^\s+at /m);
    // Mended for good.
    expect((await serve()).text).toBe(sound.text);
  },
);

it.each(built.filter((file) => /\.(onnx|json)$/.test(file)).map((file) => [basename(file), file]))(
  '%s is overwritten, its size unchanged: the server starts, and says the same',
  async (_name, file) => {
    const { size } = await stat(file);
    await writeFile(file, Buffer.alloc(size, 'garbage '));
    expect((await serve()).text).toBe(sound.text);
  },
);

it('the list of content hashes is damaged: the server starts, and says the same', async () => {
  for (const file of await filesBelow(join(cache.path, 'content-hashes'))) {
    await writeFile(file, 'garbage');
  }
  expect((await serve()).text).toBe(sound.text);
});
