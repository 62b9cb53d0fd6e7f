/** CHAIRLIFT_FUZZ_HEADERS=1000000 npx vitest run test/onnx/onnx-fuzz.test.ts */
import { toBinary } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { UntrustedPathError } from '../../src/files/untrusted-path.ts';
import { externalFiles } from '../../src/onnx/external-initializers.ts';
import { GraphBuilder } from '../../src/onnx/graph-builder.ts';
import { ModelProtoSchema } from '../../src/onnx/onnx_pb.ts';
import { givenInputs, parseModel } from '../../src/onnx/parsed-model.ts';
import { externalTensor } from '../../src/onnx/protos.ts';
import { FUZZ_RUNS, FUZZ_TIMEOUT, fuzzReader } from '../support/fuzz-reader.ts';

function goodModel(): Buffer {
  const graph = new GraphBuilder('fuzzed');
  graph.input('x', 'float', ['rows', 4]);
  const weight = graph.initializer('weight', 'float', [4, 2], new Float32Array(8));
  graph.node('y', 'MatMul', ['x', weight]);
  graph.node('z', 'Cast', ['y'], { attributes: { to: 10n } });
  graph.output('z', 'float16', ['rows', 2]);
  const { model, graph: parsed } = parseModel(graph.toBytes());
  const external = { name: 'far', type: 'float', dims: [2, 2], data: new Float32Array(4) } as const;
  parsed.initializer.push(externalTensor(external, 'weights.data', { offset: 64, length: 16 }));
  return Buffer.from(toBinary(ModelProtoSchema, model));
}

function outcomeOf(bytes: Buffer): 'read' | 'refused' {
  let parsed;
  try {
    parsed = parseModel(bytes);
  } catch (error) {
    // Errors that callers turn into their own: no crash, and nothing that is no Error.
    if (error instanceof Error) return 'refused';
    throw error;
  }
  try {
    givenInputs(parsed.graph);
    externalFiles(parsed.graph, '/models', 'x.onnx');
  } catch (error) {
    const isAnswer =
      error instanceof UntrustedPathError ||
      (error instanceof Error && /^x\.onnx\b/.test(error.message));
    if (!isAnswer) throw error;
    return 'refused';
  }
  return 'read';
}

test(
  `${FUZZ_RUNS} changed graphs give a graph or an error, and take no more memory than they have bytes for`,
  () => {
    const { read, refused } = fuzzReader(goodModel(), outcomeOf);
    expect(read).toBeGreaterThan(FUZZ_RUNS / 100);
    expect(refused).toBeGreaterThan(FUZZ_RUNS / 10);
  },
  FUZZ_TIMEOUT,
);
