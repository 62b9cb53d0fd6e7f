import { pino } from 'pino';
import { expect, test } from 'vitest';
import { servedModels } from '../../../src/serving/server/served-models.ts';
import { settingsFrom } from '../../support/settings.ts';

async function served(...words: string[]) {
  const { options } = await settingsFrom('serve', words);
  const { definitions, aliases } = await servedModels(options, pino({ level: 'silent' }));
  const targets = [...aliases].map(([alias, of]) => [alias, [...of.keys()]] as const);
  return { names: definitions.map(({ name }) => name), aliases: Object.fromEntries(targets) };
}

test('a model is called as its folder, or as the operator says', async () => {
  expect(await served()).toEqual({ names: ['summit'], aliases: {} });
  expect(await served('foothill')).toEqual({ names: ['foothill'], aliases: {} });
  expect(await served('chat=summit', './models/foothill')).toEqual({
    names: ['chat', 'foothill'],
    aliases: {},
  });
  expect(await served('owner/name')).toEqual({ names: ['owner/name'], aliases: {} });
});

test('the first of several names is in answers, the others are aliases', async () => {
  const names = ['--served-model-name', 'gpt-4o', 'gpt-4o-mini'];
  expect(await served('summit', ...names)).toEqual({
    names: ['gpt-4o'],
    aliases: { 'gpt-4o-mini': ['gpt-4o'] },
  });
});

test("a repository's models are there once, with aliases of their own", async () => {
  expect(await served('--model-repository', 'models')).toEqual({
    names: ['foothill', 'summit'],
    aliases: {},
  });
  // Named besides: it is of the repository all the same.
  expect(await served('summit', '--model-repository', 'models')).toMatchObject({
    names: ['foothill', 'summit'],
  });
});

test.each([
  [['a=summit', 'a=foothill'], /two models are called a/],
  [['summit', '--served-model-name', 'a,a'], /two models are called a/],
  [['summit', 'foothill', '--served-model-name', 'a'], /for a single --model/],
  [['sumit'], /no model sumit/],
])('%j is refused', async (words, message) => {
  await expect(served(...words)).rejects.toThrow(message);
});
