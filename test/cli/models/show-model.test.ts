import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeModel } from '../../../src/cli/models/show-model.ts';
import { tableGraph } from '../../server/support/stateless-models.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

async function rowsOf(source: string): Promise<Record<string, string>> {
  const lines = (await describeModel(source)).split('\n');
  return Object.fromEntries(lines.map((line) => [line.slice(2, 16).trim(), line.slice(17)]));
}

test('a model that generates text', async () => {
  expect(await rowsOf('models/summit')).toMatchObject({
    kind: 'Hugging Face checkpoint, llama',
    matrices: '43 in F16',
    'chat template': 'yes',
    'tool calls': 'yes, as hermes',
    thinking: 'no',
    sampling: 'temperature 0.6, top_p 0.9; in `run`, /api and /infill also top_k 40, min_p 0.05',
  });
  expect(await rowsOf('models/summit')).not.toHaveProperty('images');
  for (const model of ['vision/smolvlm', 'gguf-vision/smolvlm', 'gguf-vision/smolvlm/smolvlm.gguf']) {
    const images = /^yes, tiles of 32 pixels, 4 tokens each; tower of \S+ parameters$/;
    expect(await rowsOf(`test/fixtures/${model}`)).toMatchObject({
      images: expect.stringMatching(images),
    });
  }
  expect(await rowsOf('test/fixtures/vision/gemma3')).toMatchObject({
    images: expect.stringMatching(/^yes, squares of 32 pixels, 16 tokens each; tower of \S+ parameters$/),
  });
  expect(await rowsOf('test/fixtures/vision/mistral3')).toMatchObject({
    images: expect.stringMatching(/^yes, a token for 8 x 8 pixels, up to 25; tower of \S+ parameters$/),
  });
  expect(await rowsOf('test/fixtures/vision/llava')).toMatchObject({
    images: expect.stringMatching(/^yes, squares of 34 pixels, 16 tokens each; tower of \S+ parameters$/),
  });
  expect(await rowsOf('test/fixtures/vision/qwen2.5-vl')).toMatchObject({
    images: 'yes, a token for 8 x 8 pixels, up to 18; tower of 0.0M parameters',
  });
  expect(await rowsOf('test/exports/hub')).toMatchObject({ kind: 'ONNX export, qwen3' });
});

test('a model whose layers have states', async () => {
  const folder = await temporaryDirectory();
  const lfm2 = 'test/fixtures/hybrids/lfm2';
  await copyFile(join(lfm2, 'model.safetensors'), join(folder, 'model.safetensors'));
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) {
    await copyFile(join('models/summit', name), join(folder, name));
  }
  const config: unknown = JSON.parse(await readFile(join(lfm2, 'config.json'), 'utf8'));
  const wide = { ...Object(config), vocab_size: 4096 };
  await writeFile(join(folder, 'config.json'), JSON.stringify(wide));
  expect(await rowsOf(folder)).toMatchObject({
    kind: 'Hugging Face checkpoint, lfm2',
    layers: '3, 2 of them with states in place of attention, 128 values together',
  });
});

test('text encoders', async () => {
  expect(await rowsOf('test/fixtures/encoders/bert')).toMatchObject({
    kind: 'text encoder, bert',
    use: 'embeddings',
    weights: expect.stringMatching(/^\d+ \w+, ONNX export onnx.model\.onnx$/),
    pooling: 'mean',
    context: '16 tokens',
    prompts: 'document, query',
  });
  expect(await rowsOf('test/fixtures/encoders/bert-reranker')).toMatchObject({
    kind: 'text encoder, bert',
    use: 'scores of pairs of texts',
    weights: expect.stringMatching(/, safetensors$/),
    layers: '2',
    width: '16',
  });
});

test('a graph with tensors in and out', async () => {
  const folder = await temporaryDirectory();
  const file = join(folder, 'model.onnx');
  await writeFile(file, tableGraph());
  expect(await rowsOf(folder)).toEqual({
    folder,
    kind: 'ONNX graph, tensors in and out',
    input: 'index: int64 [batch]',
    output: 'row: float [batch, 2]',
  });
  await writeFile(file, 'Entry not found');
  await expect(describeModel(folder)).rejects.toThrow(
    `${file} can't be read: it is a text, not the file itself: "Entry not found"`,
  );
  await writeFile(file, tableGraph().subarray(0, 40));
  await expect(describeModel(folder)).rejects.toThrow(`${file} can't be read: `);
});
