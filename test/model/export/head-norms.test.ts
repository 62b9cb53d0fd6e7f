import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { moveHeadNorms } from '../../../src/model/export/head-norms.ts';
import { parseModel } from '../../../src/onnx/parsed-model.ts';

const read = async (path: string) => parseModel(await readFile(`test/exports/${path}/model.onnx`));

it('computes norms of heads before attention, once for queries and once for keys', async () => {
  const { graph } = moveHeadNorms(await read('tools/genai-cuda'), 'it');
  const attention = graph.node.filter(({ opType }) => opType === 'GroupQueryAttention');
  expect(attention.map(({ input }) => input.length)).toEqual([9, 9]);
  const norms = graph.node.filter(
    ({ opType, name }) => opType === 'SimplifiedLayerNormalization' && name.includes('/norm'),
  );
  expect(norms.map(({ input }) => input[1])).toEqual(
    [0, 1].flatMap((layer) =>
      ['q', 'k'].map((kind) => `model.layers.${layer}.attn.${kind}_norm.layernorm.weight`),
    ),
  );
});

it('leaves alone what has none', async () => {
  const parsed = await read('genai');
  expect(moveHeadNorms(parsed, 'it')).toBe(parsed);
});

it('refuses norms where queries, keys and values are one, naming the node', async () => {
  const parsed = await read('tools/genai-cuda');
  for (const { opType, input } of parsed.graph.node) {
    if (opType === 'GroupQueryAttention') input.splice(1, 2, '', '');
  }
  expect(() => moveHeadNorms(parsed, 'it')).toThrow(
    /^it normalizes heads in GroupQueryAttention \S+, of queries, keys and values in one/,
  );
});
