/** Hubs and model folders that want to write, or read, where they should not. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runToEnd } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { contentsOf, FakeS3, listOf } from '../support/fake-s3.ts';
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
  ['a folder of an export', { [`${OUT}/onnx/genai_config.json`]: genai('model.onnx') }],
  [
    'an export in a folder',
    { 'cpu/genai_config.json': genai(`../${OUT}/escaped.onnx`), 'cpu/escaped.onnx': 'graph' },
  ],
  [
    'a folder that is outside',
    { [`${OUT}/genai_config.json`]: genai('escaped.onnx'), 'README.md': 'text' },
  ],
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

it.each(['an export', 'genai_config.json', 'redirects', 'a listing without an end'])(
  'a bucket writes nothing outside of the cache, and asks nobody else, by %s',
  async (by) => {
    const home = await temporaryDirectory();
    const cache = join(home, 'cache');
    await mkdir(cache);
    const graph = `m/${OUT}/onnx/model.onnx`;
    const files = { 'm/config.json': config, [graph]: 'escaped', 'm/a/onnx/model.onnx': 'escaped' };
    const inside = await FakeS3.start(files);
    const store = await FakeS3.start(files);
    if (by === 'genai_config.json') store.put(`m/${by}`, genai(`${OUT}/onnx/model.onnx`));
    let page = 0;
    if (by === 'a listing without an end') {
      store.listing = () => listOf([contentsOf(`m/${++page}`, 1, 'a')], `page-${page}`);
    }
    if (by === 'redirects') {
      store.answer = ({ url = '' }, response) => {
        response.writeHead(307, { location: `${inside.endpoint}${url}` }).end();
        return true;
      };
    }
    try {
      const env = { ...store.env, CHAIRLIFT_CACHE: cache, HOME: home };
      const { code, output } = await runToEnd(['build', '--model', 's3://models/m'], env);
      expect({ code, output }).toMatchObject({ code: 1 });
      expect(await readdir(home)).toEqual(['cache']);
      expect(inside.requests).toEqual([]);
      expect(output).not.toMatch(/^\s+at /m);
    } finally {
      store.stop();
      inside.stop();
    }
  },
);

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
