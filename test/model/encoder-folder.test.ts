/** Folders of text encoders: what is found in them, and what is refused. */
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inspectEncoderFolder, isEncoderFolder } from '../../src/model/encoder/encoder-folder.ts';
import { encoderFolder } from '../encoder/support/encoders.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** A copy of a tiny encoder with some of its files replaced; null for none. */
async function changed(name: string, files: Readonly<Record<string, unknown>>): Promise<string> {
  const folder = await temporaryDirectory();
  await cp(encoderFolder(name), folder, { recursive: true });
  for (const [file, content] of Object.entries(files)) {
    const path = join(folder, file);
    if (content === null) await rm(path, { recursive: true });
    else await writeFile(path, JSON.stringify(content));
  }
  return folder;
}

describe('an encoder folder', () => {
  it('is told from a language model', async () => {
    expect(await isEncoderFolder(encoderFolder('bert'))).toBe(true);
    expect(await isEncoderFolder(encoderFolder('bert-reranker'))).toBe(true);
    expect(await isEncoderFolder('models/summit')).toBe(false);
    expect(await isEncoderFolder('no-such-folder')).toBe(false);
    const oneWay = { 'config.json': { model_type: 'qwen3', architectures: ['Qwen3ForCausalLM'] } };
    expect(await isEncoderFolder(await changed('bert', oneWay))).toBe(false);
    const bothWays = { model_type: 'gemma3_text', use_bidirectional_attention: true };
    expect(await isEncoderFolder(await changed('bert', { 'config.json': bothWays }))).toBe(true);
  });

  it('has a graph, if there is one and int8 is not wanted', async () => {
    const folder = encoderFolder('bert');
    expect((await inspectEncoderFolder(folder)).graph).toEqual({
      type: 'export',
      file: join(folder, 'onnx', 'model.onnx'),
    });
    expect((await inspectEncoderFolder(folder, 'weights')).graph.type).toBe('weights');
    const unknown = await changed('bert', { 'config.json': { model_type: 'nomic_bert' } });
    expect((await inspectEncoderFolder(unknown, 'weights')).graph.type).toBe('export');
  });

  it('is what its files say', async () => {
    const { kind, maxTokens, modules, weightBytes } = await inspectEncoderFolder(
      encoderFolder('bert-dense'),
    );
    expect({ kind, maxTokens }).toEqual({ kind: 'embedding', maxTokens: 24 });
    expect(modules).toMatchObject({
      pooling: ['cls'],
      dense: [{ inFeatures: 16, outFeatures: 8, bias: true, activation: 'tanh' }],
      normalize: false,
      prompts: {},
      matryoshkaDimensions: null,
    });
    expect(weightBytes).toBeGreaterThan(10_000);
  });

  it("has older files' pooling, length and prompts, too", async () => {
    const folder = await changed('xlm-roberta', {
      '1_Pooling/config.json': { pooling_mode_cls_token: true, pooling_mode_mean_tokens: true },
      'sentence_bert_config.json': { max_seq_length: 12 },
      'config_sentence_transformers.json': { prompts: { q: 'query: ' }, default_prompt_name: 'q' },
    });
    const { maxTokens, modules } = await inspectEncoderFolder(folder);
    expect(maxTokens).toBe(12);
    expect(modules).toMatchObject({
      pooling: ['cls', 'mean'],
      prompts: { q: 'query: ' },
      defaultPromptName: 'q',
    });
  });

  it.each([
    ['no weights', { 'model.safetensors': null }, /neither onnx\/model\.onnx/],
    ['another family', { 'config.json': { model_type: 'mpnet' } }, /no encoder that can be built/],
    ['no configuration', { 'config.json': null }, /config\.json cannot be read/],
    ['no pooling', { '1_Pooling/config.json': {} }, /names no pooling/],
    ['another pooling', { '1_Pooling/config.json': { pooling_mode: 'median' } }, /pooling that/],
    ['another module', { 'modules.json': [{ path: '', type: 'x.CNN' }] }, /module that can't/],
    ['a module outside', { 'modules.json': [{ path: '../x', type: 'x.Pooling' }] }, /leads out/],
    ['damaged modules', { 'modules.json': { path: '' } }, /modules\.json: /],
  ])('with %s is refused', async (_what, files, message) => {
    const folder = await changed('xlm-roberta', files);
    await expect(inspectEncoderFolder(folder)).rejects.toThrow(message);
  });
});
