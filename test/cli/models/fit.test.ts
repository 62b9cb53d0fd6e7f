import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { describeFit } from '../../../src/cli/models/fit.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { readArguments } from '../../../src/settings/arguments.ts';
import { Settings } from '../../../src/settings/settings.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { FakeHub } from '../../support/fake-hub.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

async function fitOf(...words: readonly string[]) {
  return fitWith('onnxruntime', words);
}

async function fitWith(kernels: string, words: readonly string[]) {
  const args = readArguments('fit', [...words, '--device', 'cpu', '--kernels', kernels]);
  return await describeFit((await Settings.open('fit', args, {})).options);
}

/** Columns of a precision. */
function rowOf(report: string, precision: string): readonly string[] | undefined {
  const rows = report.split('\n').map((line) => line.split(/ {2,}/));
  return rows.find(([first]) => first?.replace(' *', '') === precision);
}

test('a shape is measured in each precision, and fits or does not', async () => {
  const shape = ['smollm2-135m', '--random-weights', '1', '--max-model-len', '1024'];
  const { report, problem } = await fitOf(...shape, '--precision', 'fp32');
  expect(problem).toBeNull();
  expect(report).toContain('llama, 134.5M parameters');
  expect(report).toContain('of up to 1024 tokens');
  // 332 MiB, and 870 bytes for each of 49,152 tokens, rounded up.
  expect(report).toContain('a server without a model takes 373 MiB');
  // 30 layers x 2 x 3 heads x 64 values x 4 bytes x 1024.
  expect(rowOf(report, 'fp32')).toEqual(['fp32 *', '514 MiB', '45 MiB', expect.any(String)]);
  expect(rowOf(report, 'int8')?.[1]).toBe('136 MiB');
  // Only our own kernels have it.
  expect(rowOf(report, 'int4-mixed')).toBeUndefined();
});

test('layers without keys and values count with their states', async () => {
  const config = 'test/fixtures/hybrids/lfm2/config.json';
  const lfm2: unknown = JSON.parse(await readFile(config, 'utf8'));
  const path = join(await temporaryDirectory(), 'config.json');
  const wide = { hidden_size: 65_536, num_attention_heads: 2, head_dim: 16, conv_L_cache: 8 };
  await writeFile(path, JSON.stringify({ ...Object(lfm2), ...wide }));
  const { report } = await fitOf(path, '--random-weights', '1', '--precision', 'fp32');
  // 1 layer x 2 x 16 values x 4 bytes x 64 tokens, and 2 rows of 2 layers x 7 x 65,536 values x 4 bytes, rounded up.
  expect(rowOf(report, 'fp32')?.[2]).toBe('8 MiB');
});

test('int8-static is there for layers that it is for', needs(LINUX), async () => {
  const config = 'test/fixtures/hybrids/lfm2/config.json';
  const seed = ['--random-weights', '1'];
  const { report } = await fitWith('auto', ['smollm2-135m', ...seed]);
  expect(rowOf(report, 'int8-static')).toBeDefined();
  const hybrid = await fitWith('auto', [config, ...seed]);
  expect(rowOf(hybrid.report, 'int8-static')).toBeUndefined();
  expect(rowOf(hybrid.report, 'int8')).toBeDefined();
});

test('what does not fit is said with figures', async () => {
  const path = await temporaryDirectory();
  const config = join(path, 'config.json');
  const huge = { ...PRESETS['smollm2-135m'], num_hidden_layers: 256, intermediate_size: 2 ** 20 };
  await writeFile(config, JSON.stringify(huge));
  const { report, problem } = await fitOf(config, '--random-weights', '1', '--precision', 'fp32');
  expect(rowOf(report, 'fp32')?.[3]).toBe('does not fit');
  expect(problem).toMatch(
    /^fp32 does not fit: with one text it takes 17\d\d\.\d GiB, and .* are free/,
  );
});

test('of what has not been downloaded, the configuration alone is', async () => {
  const config = JSON.stringify(PRESETS['smollm2-135m']);
  const weights = Buffer.alloc(1000);
  const hub = await FakeHub.start({ 'config.json': config, 'model.safetensors': weights });
  vi.stubEnv('HF_ENDPOINT', hub.endpoint);
  vi.stubEnv('CHAIRLIFT_CACHE', await temporaryDirectory());
  onTestFinished(() => {
    vi.unstubAllEnvs();
    hub.stop();
  });
  const { report } = await fitOf('owner/name');
  expect(report).toContain('llama, 134.5M parameters');
  expect(hub.downloads).toEqual(['config.json']);
});

test('an export is refused', async () => {
  await expect(fitOf('test/exports/hub')).rejects.toThrow('ONNX export');
});
