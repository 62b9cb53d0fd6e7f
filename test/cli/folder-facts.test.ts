import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FolderFacts } from '../../src/cli/folder-facts.ts';
import { modelDefinition } from '../front/registry/fake-loader.ts';
import { tableGraph } from '../server/support/stateless-models.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const of = (source: string, flags = {}, facts = new FolderFacts(null)) =>
  facts.of(modelDefinition('any', flags, { source }));

it('tells length, uses and size of models by their small files', async () => {
  const folder = await temporaryDirectory();
  await writeFile(join(folder, 'model.onnx'), tableGraph());
  expect(await of('models/summit')).toMatchObject({ capabilities: ['completions', 'chat'] });
  expect((await of('models/summit'))?.maxModelLen).toBeGreaterThan(500);
  expect((await of('models/summit'))?.bytes).toBeGreaterThan(2 ** 20);
  expect(await of('test/fixtures/families/qwen3')).toMatchObject({
    maxModelLen: 64,
    capabilities: ['completions'],
  });
  expect(await of('test/exports/genai')).toMatchObject({ maxModelLen: expect.any(Number) });
  expect(await of('test/fixtures/encoders/bert')).toMatchObject({
    maxModelLen: 16,
    capabilities: ['embeddings'],
  });
  expect(await of('test/fixtures/encoders/bert-reranker')).toMatchObject({
    capabilities: ['rerank', 'score'],
  });
  expect(await of(folder)).toEqual({
    maxModelLen: null,
    capabilities: ['infer'],
    bytes: tableGraph().length,
  });
});

it('goes by the length that was asked for', async () => {
  const flag = { 'max-model-len': 32 };
  expect(await of('models/summit', flag)).toMatchObject({ maxModelLen: 32 });
  expect(await of('models/summit', {}, new FolderFacts(48))).toMatchObject({ maxModelLen: 48 });
});

it('knows nothing of the hub, and of what can not be read', async () => {
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
