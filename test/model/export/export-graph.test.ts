import { readFile } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseExportConfig, readExport } from '../../../src/model/export/export-folder.ts';
import { inspectExport, rewriteExport } from '../../../src/model/export/export-graph.ts';
import { attributeProto } from '../../../src/onnx/attributes.ts';
import { parseModel, type ParsedModel } from '../../../src/onnx/parsed-model.ts';
import { type NodeProto } from '../../../src/onnx/onnx_pb.ts';
import { nodeProto, valueInfo } from '../../../src/onnx/protos.ts';

const FILE = 'test/exports/hub/onnx/model.onnx';
const CONFIG = {
  family: 'qwen3',
  vocabSize: 288,
  hiddenSize: null,
  maxPositionEmbeddings: 512,
  headDim: 16,
  numHeads: 2,
  attentionSoftcap: null,
  inputIds: 'input_ids',
  logits: 'logits',
};

let parsed: ParsedModel;
beforeEach(async () => {
  parsed = parseModel(await readFile(FILE));
});

function rewritten() {
  const graph = rewriteExport(inspectExport(parsed, CONFIG, 'it'), [''], undefined, 'it');
  return parseModel(graph.toBytes()).graph;
}

function nodeThatMakes(nodes: readonly NodeProto[], value: string): NodeProto | undefined {
  return nodes.find(({ output }) => output.includes(value));
}

function attention(): NodeProto {
  const node = parsed.graph.node.find(({ opType }) => opType === 'GroupQueryAttention');
  if (!node) throw new Error('there is no attention');
  return node;
}

describe('a rewritten export', () => {
  it('is given what decoders are', () => {
    const { input, output } = rewritten();
    const cache = (prefix: string) =>
      ['0.key', '0.value', '1.key', '1.value'].map((n) => prefix + n);
    expect(input.map(({ name }) => name)).toEqual([
      'logits_index',
      'input_ids',
      'seqlens_k',
      'total_sequence_length',
      ...cache('past_key_values.'),
    ]);
    expect(output.map(({ name }) => name)).toEqual(['logits', ...cache('present.')]);
  });

  it('has no node that reads an attention mask', () => {
    const { node } = rewritten();
    expect(parsed.graph.node.some(({ opType }) => opType === 'ReduceSum')).toBe(true);
    expect(node.some(({ opType }) => opType === 'ReduceSum')).toBe(false);
  });

  it('has each node after those that it needs', () => {
    const { node, input, initializer } = rewritten();
    const known = new Set(['', ...input.map((i) => i.name), ...initializer.map((i) => i.name)]);
    for (const each of node) {
      for (const name of each.input) expect(known).toContain(name);
      for (const name of each.output) known.add(name);
    }
  });

  it('projects wanted tokens only, through what comes after the product', () => {
    const last = parsed.graph.node.find(({ output }) => output.includes('logits'));
    last?.output.splice(0, 1, 'raw');
    parsed.graph.node.push(nodeProto('cap', 'Tanh', ['raw'], { outputs: ['logits'] }));
    const { node } = rewritten();
    const tanh = node.find(({ opType }) => opType === 'Tanh');
    const product = nodeThatMakes(node, tanh?.input[0] ?? '');
    expect(product?.opType).toBe('MatMul');
    expect(nodeThatMakes(node, product?.input[0] ?? '')).toMatchObject({
      opType: 'Gather',
      input: [expect.any(String), 'logits_index'],
    });
  });

  it('picks logits where it knows no other place', () => {
    const last = parsed.graph.node.find(({ output }) => output.includes('logits'));
    last?.output.splice(0, 1, 'raw');
    parsed.graph.node.push(nodeProto('odd', 'Softmax', ['raw'], { outputs: ['logits'] }));
    const { node } = rewritten();
    const wanted = node.find(({ input }) => input.includes('logits_index'));
    const all = nodeThatMakes(node, wanted?.input[0] ?? '');
    expect(nodeThatMakes(node, all?.input[0] ?? '')?.opType).toBe('Softmax');
  });

  it('gives the logits of all tokens where the export chooses some', () => {
    const last = parsed.graph.node.find(({ output }) => output.includes('logits'));
    const [hidden = ''] = last?.input ?? [];
    parsed.graph.input.push(valueInfo('num_logits_to_keep', 'int64', []));
    const slice = nodeProto('slice', 'Slice', [hidden, 'num_logits_to_keep'], {
      outputs: ['some'],
    });
    parsed.graph.node.push(slice);
    last?.input.splice(0, 1, 'some');
    expect(rewritten().node.some(({ opType }) => opType === 'Slice')).toBe(false);
  });

  it('takes 8-bit activations where the export leaves that open', async () => {
    parsed = parseModel(await readFile('test/exports/hub/onnx/model_q4.onnx'));
    const products = parsed.graph.node.filter(({ opType }) => opType === 'MatMulNBits');
    const levels = [undefined, 0n, 1n];
    for (const [at, { attribute }] of products.entries()) {
      const found = attribute.findIndex(({ name }) => name === 'accuracy_level');
      const level = levels[at % 3];
      attribute.splice(
        found,
        1,
        ...(level === undefined ? [] : [attributeProto('accuracy_level', level)]),
      );
    }
    const found = rewritten().node.filter(({ opType }) => opType === 'MatMulNBits');
    const byName = new Map(found.map(({ name, attribute }) => [name, attribute]));
    expect(byName.size).toBe(11);
    for (const [at, { name }] of products.entries()) {
      const level = byName.get(name)?.filter((each) => each.name === 'accuracy_level');
      expect(level?.map(({ i }) => i)).toEqual([at % 3 === 2 ? 1n : 4n]);
    }
  });
});

describe('refuses', () => {
  it('another attention, naming it', () => {
    for (const node of parsed.graph.node) {
      if (node.opType === 'GroupQueryAttention') node.opType = 'MultiHeadAttention';
    }
    expect(rewritten).toThrow(
      'it has attention in a form that is not supported (MultiHeadAttention); supported: decoders ' +
        'with a KV cache in past_key_values inputs and present outputs whose attention is ' +
        'GroupQueryAttention, MultiHeadAttention, or a Softmax between two products',
    );
    parsed.graph.node = parsed.graph.node.filter(({ opType }) => !/Attention|Softmax/.test(opType));
    expect(rewritten).toThrow('it has no attention; supported: decoders');
  });

  it('layers that share a cache', () => {
    attention().input.splice(3, 2, '', '');
    expect(rewritten).toThrow('layers without a KV cache of their own');
  });

  it('a bias of attention scores', () => {
    attention().input.splice(9, 2, '', 'bias');
    expect(rewritten).toThrow('adds a bias to attention scores');
  });

  it('layers of different shapes', () => {
    for (const attribute of attention().attribute) {
      if (attribute.name === 'kv_num_heads') attribute.i = 2n;
    }
    expect(rewritten).toThrow('layers of different numbers of KV heads: 2, 1');
  });

  it('a cache of another type', () => {
    for (const input of parsed.graph.input) {
      if (!input.name.startsWith('past') || input.type?.value.case !== 'tensorType') continue;
      input.type.value.value.elemType = 16;
    }
    expect(rewritten).toThrow('KV cache of element type 16');
  });

  it('a mask that something else needs, naming that', () => {
    const last = parsed.graph.node.find(({ output }) => output.includes('logits'));
    last?.output.splice(0, 1, 'raw');
    const inputs = ['raw', 'attention_mask'];
    parsed.graph.node.push(nodeProto('masked', 'Mul', inputs, { outputs: ['logits'] }));
    expect(rewritten).toThrow('it needs its input attention_mask for Mul masked');
  });

  it('a vocabulary that is not the one of the configuration', () => {
    const logits = parsed.graph.output.findIndex(({ name }) => name === 'logits');
    parsed.graph.output[logits] = valueInfo('logits', 'float', ['batch', 'seq', 300]);
    expect(rewritten).toThrow('logits for 300 tokens, and its configuration says 288');
  });

  it('what has no LM head, naming what it gives', () => {
    const logits = parsed.graph.output.find(({ name }) => name === 'logits');
    if (logits) logits.name = 'hidden_states';
    expect(rewritten).toThrow('it has no output logits, only hidden_states: export it with its LM');
  });

  it('what takes embeddings', () => {
    const ids = parsed.graph.input.find(({ name }) => name === 'input_ids');
    if (ids) ids.name = 'inputs_embeds';
    expect(rewritten).toThrow('it takes embeddings (inputs_embeds) in place of token ids');
  });

  it('what is no ONNX file, naming it', async () => {
    await expect(readExport('test/exports/reference.json', CONFIG)).rejects.toThrow(
      /reference\.json can't be read/,
    );
  });
});

it('knows how far positions reach', () => {
  expect(inspectExport(parsed, CONFIG, 'it').facts.maxPositions).toBe(128);
});

it('reads configurations of families that have other names', () => {
  const config = {
    model_type: 'gpt_bigcode',
    vocab_size: 64,
    n_positions: 128,
    n_embd: 32,
    n_head: 2,
  };
  expect(parseExportConfig(config, 'it')).toMatchObject({
    maxPositionEmbeddings: 128,
    hiddenSize: 32,
    headDim: 16,
    numHeads: 2,
  });
});
