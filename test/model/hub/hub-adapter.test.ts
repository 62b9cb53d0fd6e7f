import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MODEL_LIMITS } from '../../../src/model-limits.ts';
import { LoraAdapter } from '../../../src/model/adapters/lora-adapter.ts';
import { pullAdapter } from '../../../src/model/download/remote-adapter.ts';
import { hubRemote } from '../../../src/model/hub/hub-remote.ts';
import { parseHubReference } from '../../../src/model/hub/hub-repository.ts';
import { FakeHub } from '../../support/fake-hub.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FIXTURE = 'test/fixtures/adapters/llama-all';
const FILES = {
  'README.md': 'not needed',
  'adapter_config.json': await readFile(join(FIXTURE, 'adapter_config.json')),
  'adapter_model.safetensors': await readFile(join(FIXTURE, 'adapter_model.safetensors')),
  'adapter_model.bin': 'not needed',
  'checkpoint-10/adapter_model.safetensors': 'not needed',
  'tokenizer.json': '{}',
};

async function hubWith(files: Readonly<Record<string, string | Buffer>> = FILES) {
  const hub = await FakeHub.start(files);
  onTestFinished(() => hub.stop());
  const cacheDirectory = await temporaryDirectory();
  const access = { endpoint: hub.endpoint, token: null };
  const options = { cacheDirectory, retryMs: 1 };
  const pull = (reference = 'hf:owner/name') =>
    pullAdapter(hubRemote(parseHubReference(reference), access), options);
  return { hub, pull };
}

describe('an adapter of the hub', () => {
  test('is downloaded once, its two files, and taken without the hub later', async () => {
    const { hub, pull } = await hubWith();
    const folder = await pull();
    expect((await readdir(folder)).sort()).toEqual([
      'adapter_config.json',
      'adapter_model.safetensors',
    ]);
    const adapter = await LoraAdapter.open(folder);
    expect([...adapter.modules()]).toContain('model.layers.0.self_attn.q_proj');
    await adapter.close();
    const { length } = hub.downloads;
    expect(await pull('hf:owner/name@main')).toBe(folder);
    expect(hub.downloads).toHaveLength(length);
    hub.stop();
    expect(await pull()).toBe(folder);
  });

  test.each(['adapter_config.json', 'adapter_model.safetensors'] as const)(
    'without %s is none',
    async (name) => {
      const { [name]: _, ...files } = FILES;
      const { hub, pull } = await hubWith(files);
      await expect(pull()).rejects.toThrow(`owner/name has no ${name}, as LoRA adapters`);
      expect(hub.downloads).toEqual([]);
    },
  );

  test('of a kind that is not supported is refused before its weights come', async () => {
    const config = JSON.stringify({ peft_type: 'IA3', r: 1, lora_alpha: 1 });
    const { hub, pull } = await hubWith({ ...FILES, 'adapter_config.json': config });
    await expect(pull()).rejects.toThrow('owner/name: peft_type IA3 is not supported');
    expect(hub.downloads).toEqual(['adapter_config.json']);
  });

  test.each([
    ['adapter_config.json', MODEL_LIMITS.textFileBytes],
    ['adapter_model.safetensors', MODEL_LIMITS.adapterBytes],
  ])('whose %s has more than %i bytes is refused before it comes', async (name, most) => {
    const { hub, pull } = await hubWith();
    hub.statedSizes.set(name, most + 1);
    await expect(pull()).rejects.toThrow(
      `${name} of owner/name has ${most + 1} bytes, more than ${most}`,
    );
    expect(hub.downloads).toEqual([]);
  });

  test('that is longer than the hub said is cut off', async () => {
    const { hub, pull } = await hubWith();
    hub.statedSizes.set('adapter_config.json', 10);
    await expect(pull()).rejects.toThrow('adapter_config.json is longer than was stated');
  });

  test('has no files to pick from', async () => {
    const { pull } = await hubWith();
    await expect(pull('hf:owner/name:Q4_K_M')).rejects.toThrow(
      'the name of an adapter has no file',
    );
  });
});
