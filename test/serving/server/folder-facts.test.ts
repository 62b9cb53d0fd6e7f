import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FolderFacts } from '../../../src/serving/server/folder-facts.ts';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import { tableGraph } from '../../server/support/stateless-models.ts';
import { float, ggufBytes, text, texts, uint } from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const of = (source: string, flags = {}, facts = new FolderFacts(null)) =>
  facts.of(modelDefinition('any', flags, { source }));

it('tells length, uses and size of models by their small files', async () => {
  const folder = await temporaryDirectory();
  await writeFile(join(folder, 'model.onnx'), tableGraph());
  expect(await of('models/summit')).toMatchObject({
    family: 'llama',
    format: 'safetensors',
    samplingDefaults: { temperature: 0.6, topP: 0.9 },
    capabilities: ['completions', 'chat'],
  });
  expect((await of('models/summit'))?.maxModelLen).toBeGreaterThan(500);
  expect((await of('models/summit'))?.bytes).toBeGreaterThan(2 ** 20);
  expect(await of('test/fixtures/families/qwen3')).toMatchObject({
    family: 'qwen3',
    maxModelLen: 64,
    capabilities: ['completions'],
  });
  expect(await of('test/exports/genai')).toMatchObject({
    format: 'onnx',
    samplingDefaults: { temperature: 0.6 },
    maxModelLen: expect.any(Number),
  });
  expect(await of('test/fixtures/encoders/bert')).toMatchObject({
    maxModelLen: 16,
    capabilities: ['embeddings'],
  });
  expect(await of('test/fixtures/encoders/bert-reranker')).toMatchObject({
    capabilities: ['rerank', 'score', 'classify'],
  });
  expect(await of('test/fixtures/dual-encoders/siglip')).toMatchObject({
    maxModelLen: 16,
    capabilities: ['embeddings', 'image_embeddings', 'score'],
  });
  expect(await of(folder)).toEqual({
    family: null,
    format: 'onnx',
    quantization: null,
    samplingDefaults: {},
    maxModelLen: null,
    capabilities: ['infer'],
    bytes: tableGraph().length,
  });
});

it('reads the first bytes of a GGUF file, and not its vocabulary', async () => {
  const folder = await temporaryDirectory();
  const file = join(folder, 'model.gguf');
  const metadata = {
    'general.architecture': text('qwen2'),
    'general.file_type': uint(15),
    'general.sampling.temp': float(0.7),
    'qwen2.context_length': uint(32768),
    'tokenizer.ggml.tokens': texts(Array.from({ length: 20_000 }, (_, id) => `token ${id}`)),
  };
  await writeFile(file, ggufBytes(metadata));
  const facts = {
    family: 'qwen2',
    format: 'gguf',
    quantization: 'Q4_K_M',
    samplingDefaults: { temperature: 0.7 },
    maxModelLen: 32768,
  };
  expect(await of(file)).toMatchObject(facts);
  expect(await of(folder)).toMatchObject(facts);
});

it('goes by the length that was asked for', async () => {
  const flag = { 'max-model-len': 32 };
  expect(await of('models/summit', flag)).toMatchObject({ maxModelLen: 32 });
  expect(await of('models/summit', {}, new FolderFacts(48))).toMatchObject({ maxModelLen: 48 });
});

it('knows nothing of the hub, and of what cannot be read', async () => {
  const empty = join(await temporaryDirectory(), 'empty');
  await mkdir(empty);
  expect(await of('hf:owner/name')).toBeNull();
  expect(await of(empty)).toMatchObject({ maxModelLen: null });
  const broken = await temporaryDirectory();
  await cp('models/foothill/config.json', join(broken, 'config.json'));
  await writeFile(join(broken, 'config.json'), '{');
  expect(await of(broken)).toBeNull();
  const definition = modelDefinition('any', {}, { problem: 'broken' });
  expect(await new FolderFacts(null).of(definition)).toBeNull();
});

it('looks once at each definition', async () => {
  const facts = new FolderFacts(null);
  const definition = modelDefinition('any', {}, { source: 'models/foothill' });
  expect(facts.of(definition)).toBe(facts.of(definition));
});
