/** Hubs and model folders that want to write, or read, where they should not. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runToEnd } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startHub } from './support/hostile-hub.ts';

const SUMMIT = 'models/summit';
/** From the folder of a commit, `hub/owner--name/0123...`, to beside the cache. */
const OUT = '../../../..';

const config = await readFile(join(SUMMIT, 'config.json'), 'utf8');
const genai = (filename: string) => {
  const decoder = { filename, inputs: {}, outputs: {} };
  return JSON.stringify({ model: { type: 'llama', vocab_size: 64, context_length: 64, decoder } });
};
const index = (file: string) =>
  JSON.stringify({ weight_map: { 'model.embed_tokens.weight': file } });

it.each([
  [
    'genai_config.json',
    { 'genai_config.json': genai(`${OUT}/escaped.onnx`), 'config.json': config },
  ],
  ['an export', { 'config.json': config }],
  [
    'an index of safetensors',
    { 'config.json': config, 'model.safetensors.index.json': index(`${OUT}/escaped.onnx`) },
  ],
])('a hub writes nothing outside of the cache, by %s', async (_by, files) => {
  const home = await temporaryDirectory();
  const cache = join(home, 'cache');
  await mkdir(cache);
  const escaping = ['escaped.onnx', 'onnx/model.onnx', 'config.json', 'escaped.safetensors'];
  const names = escaping.map((name) => [`${OUT}/${name}`, 'escaped'] as const);
  const absolute = [`${home}/absolute.onnx`, 'escaped'] as const;
  const hub = await startHub({ ...files, ...Object.fromEntries([...names, absolute]) });
  try {
    const env = { CHAIRLIFT_CACHE: cache, HF_ENDPOINT: hub.endpoint };
    const { code, output } = await runToEnd(['build', '--model', 'hf:owner/name'], env);
    expect({ code, output }).not.toMatchObject({ code: 0 });
    expect(await readdir(home)).toEqual(['cache']);
    // In a line, not as a trace.
    expect(output).not.toMatch(/^\s+at /m);
  } finally {
    hub.stop();
  }
});

it('a folder whose index leads out of it is refused, and nothing is read there', async () => {
  const home = await temporaryDirectory();
  const folder = join(home, 'model');
  await mkdir(folder);
  await writeFile(
    join(home, 'outside.safetensors'),
    await readFile(join(SUMMIT, 'model.safetensors')),
  );
  for (const name of ['config.json', 'tokenizer.json', 'tokenizer_config.json']) {
    await writeFile(join(folder, name), await readFile(join(SUMMIT, name)));
  }
  await writeFile(join(folder, 'model.safetensors.index.json'), index('../outside.safetensors'));
  const cache = { CHAIRLIFT_CACHE: join(home, 'cache') };
  const { code, output } = await runToEnd(['build', '--model', folder], cache);
  expect(code).not.toBe(0);
  expect(output).toMatch(/outside\.safetensors/);
  expect(output).not.toMatch(/^\s+at /m);
});
