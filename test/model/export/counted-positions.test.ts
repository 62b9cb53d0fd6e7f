import { readFile } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { countedPositions } from '../../../src/model/export/counted-positions.ts';
import { given, GraphRewriter } from '../../../src/onnx/graph-rewriter.ts';
import type { NodeProto } from '../../../src/onnx/onnx_pb.ts';
import { parseModel, type ParsedModel } from '../../../src/onnx/parsed-model.ts';
import { nodeProto } from '../../../src/onnx/protos.ts';

let parsed: ParsedModel;
beforeEach(async () => {
  parsed = parseModel(await readFile('test/exports/tools/optimum-gemma/model.onnx'));
});

const counted = () => countedPositions(new GraphRewriter(parsed), given('logits'), 'input_ids');

function maker(value: string): NodeProto {
  const node = parsed.graph.node.find(({ output }) => output.includes(value));
  if (!node) throw new Error(`nothing makes ${value}`);
  return node;
}

const RANGE = '/model/Range_output_0';

describe('positions that an export counts itself', () => {
  it('are found from the length of its cache to that of all', () => {
    expect(counted()).toEqual([given(RANGE)]);
  });

  it('are found from 0 with the length of its cache added, as newer releases of Transformers do', () => {
    const range = maker(RANGE);
    const [start = ''] = range.input;
    const [, added = ''] = maker(maker(range.input[1] ?? '').input[0] ?? '').input;
    const zero = maker(maker('/model/Range_1_output_0').input[0] ?? '').output[0] ?? '';
    parsed.graph.node.splice(
      parsed.graph.node.indexOf(range),
      1,
      nodeProto('index', 'Range', [zero, added, range.input[2] ?? '']),
      nodeProto('sum', 'Add', ['index', start], { outputs: [RANGE] }),
    );
    expect(counted()).toEqual([given(RANGE)]);
  });

  it('are not what begins elsewhere', () => {
    maker(maker(maker(RANGE).input[0] ?? '').input[0] ?? '').input[1] =
      '/model/Constant_1_output_0';
    expect(counted()).toEqual([]);
  });

  it('are not what has another step', () => {
    maker(RANGE).input[2] = '/model/Constant_output_0';
    expect(counted()).toEqual([]);
  });
});
