import { readFile } from 'node:fs/promises';
import { beforeEach, expect, it } from 'vitest';
import { groupAttention } from '../../../src/model/export/group-attention.ts';
import { findPlainAttention } from '../../../src/model/export/plain-attention.ts';
import type { NodeProto } from '../../../src/onnx/onnx_pb.ts';
import { parseModel, type ParsedModel } from '../../../src/onnx/parsed-model.ts';

const CONFIG = {
  family: 'llama',
  vocabSize: 64,
  hiddenSize: 32,
  maxPositionEmbeddings: 128,
  headDim: 16,
  numHeads: 2,
  attentionSoftcap: null,
  inputIds: 'input_ids',
  logits: 'logits',
};

let parsed: ParsedModel;
const read = async (file: string): Promise<ParsedModel> =>
  parseModel(await readFile(`test/exports/plain/${file}`));
beforeEach(async () => {
  parsed = await read('llama/onnx/model.onnx');
});

function maker(value: string): NodeProto {
  const node = parsed.graph.node.find(({ output }) => output.includes(value));
  if (!node) throw new Error(`nothing makes ${value}`);
  return node;
}

it('finds two products with a softmax between them, layer by layer', () => {
  const layers = findPlainAttention(parsed.graph, 'it');
  expect(layers.map(({ node, isPacked }) => [node.opType, isPacked])).toEqual([
    ['Softmax', false],
    ['Softmax', false],
  ]);
  expect(layers.map(({ pastKey }) => pastKey)).toEqual([
    'past_key_values.0.key',
    'past_key_values.1.key',
  ]);
});

it('finds MultiHeadAttention, unless it adds biases', async () => {
  parsed = await read('genai-fp16/model.onnx');
  expect(findPlainAttention(parsed.graph, 'it').map(({ isPacked }) => isPacked)).toEqual([
    true,
    true,
  ]);
  maker('present.1.key').input[3] = 'bias';
  expect(() => findPlainAttention(parsed.graph, 'it')).toThrow(
    'it: the attention around MultiHeadAttention /model/layers.1/attn/MultiHeadAttention is not known',
  );
});

it('refuses a layer whose cache is made in another way, by its node', () => {
  const node = maker('present.1.value');
  node.opType = 'ScatterND';
  expect(() => findPlainAttention(parsed.graph, 'it')).toThrow(
    /^it: the attention around Concat \S+ is not known$/,
  );
});

it('finds out the scale of each layer by itself', async () => {
  const scaled = async () => {
    const grouped = await groupAttention(parsed, CONFIG, 'it');
    const nodes = grouped?.parsed.graph.node.filter(
      ({ opType }) => opType === 'GroupQueryAttention',
    );
    return nodes?.map(({ attribute }) => attribute.find(({ name }) => name === 'scale')?.f);
  };
  const [first, second] = (await scaled()) ?? [];
  expect(first).toBeCloseTo(0.25, 5);
  expect(second).toBeCloseTo(0.25, 5);
  const [, softmax] = findPlainAttention(parsed.graph, 'it');
  const sum = maker(softmax?.node.input[0] ?? '');
  const product = maker(sum.input[0] ?? '');
  const constant = maker(product.input[1] ?? '');
  const value = constant.attribute.find(({ name }) => name === 'value')?.t;
  if (!value) throw new Error('the scale is no constant');
  value.rawData = new Uint8Array(Float32Array.of(0.5).buffer);
  const [same, other] = (await scaled()) ?? [];
  expect(same).toBeCloseTo(0.25, 5);
  expect(other).toBeCloseTo(0.5, 5);
});

it('refuses scores that are changed before the softmax, by its name', async () => {
  const [, layer] = findPlainAttention(parsed.graph, 'it');
  const sum = maker(layer?.node.input[0] ?? '');
  // The largest of a score and its mask.
  sum.opType = 'Max';
  await expect(groupAttention(parsed, CONFIG, 'it')).rejects.toThrow(
    /^it: the attention around Softmax \S+ is not what GroupQueryAttention computes/,
  );
});

it('refuses what reads an input that it cannot try, naming both', async () => {
  const mask = parsed.graph.input.find(({ name }) => name === 'attention_mask');
  if (!mask) throw new Error('there is no mask');
  for (const node of parsed.graph.node) {
    node.input = node.input.map((name) => (name === 'attention_mask' ? 'cache_position' : name));
  }
  mask.name = 'cache_position';
  await expect(groupAttention(parsed, CONFIG, 'it')).rejects.toThrow(
    /the attention around Softmax \S+ reads cache_position, which is not supported/,
  );
});
