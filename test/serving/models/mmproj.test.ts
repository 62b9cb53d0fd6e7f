/** Which file `--mmproj` has a GGUF model see through, and that answers are kept apart by it. */
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';

import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { textBuildIds } from '../../../src/serving/loading/build-id.ts';
import { localModelFolder } from '../../../src/serving/models/download-model.ts';
import { chooseModel } from '../../../src/serving/models/model-source.ts';
import { UsageError } from '../../../src/settings/usage-error.ts';
import { builtModels } from '../../support/built-models.ts';
import { FakeHub } from '../../support/fake-hub.ts';
import { mmprojTensors, mmprojWith } from '../../support/mmproj.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { mmprojOf, visionFolder, visionGguf } from '../../support/vision.ts';

beforeEach(async () => {
  vi.stubEnv('CHAIRLIFT_CACHE', await temporaryDirectory());
});
afterEach(() => vi.unstubAllEnvs());

async function seenThrough(model: string, mmproj?: string): Promise<string | null> {
  const options = { model, randomWeights: undefined, mmproj };
  const { vision } = await chooseModel(options, async () => null);
  return vision?.mmproj ?? null;
}

test('the file beside the model, another, or none', async () => {
  const model = visionGguf('smolvlm');
  expect(await seenThrough(model)).toBe(mmprojOf('smolvlm'));
  expect(await seenThrough(model, 'off')).toBeNull();
  const alone = join(await temporaryDirectory(), 'smolvlm.gguf');
  await copyFile(model, alone);
  expect(await seenThrough(alone)).toBeNull();
  expect(await seenThrough(alone, mmprojOf('smolvlm'))).toBe(mmprojOf('smolvlm'));
});

test('the file comes from the hub with a model that has places for images alone', async () => {
  const [text, mmproj, other] = await Promise.all(
    [visionGguf('smolvlm'), mmprojOf('smolvlm'), 'test/fixtures/gguf/glm.gguf'].map((path) =>
      readFile(path),
    ),
  );
  const hub = await FakeHub.start({
    'model-BF16.gguf': text ?? '',
    'other-Q8_0.gguf': other ?? '',
    'mmproj-model-F16.gguf': mmproj ?? '',
  });
  onTestFinished(() => hub.stop());
  vi.stubEnv('HF_ENDPOINT', hub.endpoint);
  await localModelFolder('hf:owner/name:Q8_0', async () => ({ file: '' }));
  expect(hub.downloads).toEqual(['other-Q8_0.gguf']);
  expect(await seenThrough('hf:owner/name:BF16')).toMatch(/mmproj-model-F16\.gguf$/);
  expect(hub.downloads.slice(1)).toEqual(['model-BF16.gguf', 'mmproj-model-F16.gguf']);
});

test('a folder of safetensors has none', async () => {
  const folder = visionFolder('smolvlm');
  const named = seenThrough(folder, mmprojOf('smolvlm'));
  await expect(named).rejects.toThrow(UsageError);
  await expect(named).rejects.toThrow(/--mmproj is for a GGUF model, and .*smolvlm is none/);
  const { vision } = await chooseModel(
    { model: folder, randomWeights: undefined, mmproj: 'off' },
    async () => null,
  );
  expect(vision).toBeNull();
});

test('the same text model has another build for each content of the file', async () => {
  const models = await builtModels();
  const model = await models.get('summit');
  const tokenizer = await TextTokenizer.load('models/summit');
  const how = { tokenizer, device: 'cpu', runtimeVersion: '1', attention: 'slots' };
  const idsWith = (
    mmproj: string | null,
    precision = 'fp32',
    maxTokens: number | null = null,
  ) => {
    const tower = mmproj === null ? null : { mmproj, precision, maxTokens };
    return textBuildIds({ model, tower, ...how });
  };
  const tensors = await mmprojTensors();
  const files = [
    null,
    await mmprojWith({}, tensors),
    await mmprojWith({}, tensors.slice(1)),
  ];
  const ids = await Promise.all(files.map((file) => idsWith(file)));
  expect(new Set(ids.map(({ buildId }) => buildId)).size).toBe(files.length);
  expect(new Set(ids.map(({ contentId }) => contentId)).size).toBe(files.length);
  const same = await mmprojWith({}, tensors);
  expect(await idsWith(same)).toEqual(ids[1]);
  const int8 = await idsWith(same, 'int8');
  expect(int8.buildId).not.toBe(ids[1]?.buildId);
  expect(int8.contentId).toBe(ids[1]?.contentId);
  const small = await idsWith(same, 'fp32', 256);
  expect(small.buildId).not.toBe(ids[1]?.buildId);
  await models.remove();
});
