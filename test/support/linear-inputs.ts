import { join } from 'node:path';
import { decoderGraph } from '../../src/model/graph/decoder.ts';
import { OnnxRuntimeOps } from '../../src/model/graph/onnxruntime-ops.ts';
import { layerMatrices } from '../../src/model/graph/layer-matrices.ts';
import type { DecoderConfig } from '../../src/model/huggingface/config.ts';
import type { WeightSource } from '../../src/model/huggingface/weights.ts';
import { TEXT_INPUTS, textAttention } from '../../src/optimize/calibration/text-attention.ts';
import { runForOutputs } from '../../src/ort/run-for-outputs.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Inputs of every linear layer of a float32 decoder over a text [tokens, columns], by its name. */
export async function linearInputs(
  config: DecoderConfig,
  weights: WeightSource,
  text: Int32Array,
): Promise<Map<string, Float32Array>> {
  const values = new Map<string, string>();
  const observer = {
    boundary: () => {},
    linear: (name: string, input: string) => void values.set(name, input),
  };
  const ops = new OnnxRuntimeOps(config, weights, { precision: 'fp32' }, observer);
  const graph = decoderGraph(ops, (of) => textAttention(of, config));
  const matrices = Array.from({ length: config.numLayers }, (_, layer) =>
    layerMatrices(config, layer),
  ).flat();
  const outputs = matrices.map(({ name, columns }) => ({
    name: values.get(name) ?? '',
    type: 'float' as const,
    dims: ['tokens', columns],
  }));
  const path = join(await temporaryDirectory(), 'inputs.onnx');
  await graph.part([], outputs).write(path);
  const session = new Session(path, { intraOpThreads: 1 });
  const places = BigInt64Array.from({ length: text.length }, (_, place) => BigInt(place));
  const inputs = new Map<string, Tensor>([
    [TEXT_INPUTS.tokenIds, Tensor.over('int64', [text.length], BigInt64Array.from(text, BigInt))],
    [TEXT_INPUTS.lastPosition, Tensor.over('int32', [1], Int32Array.of(text.length - 1))],
    [TEXT_INPUTS.numTokens, Tensor.over('int32', [], Int32Array.of(text.length))],
    ['logits_index', Tensor.over('int64', [text.length], places)],
  ]);
  const made = runForOutputs(
    session,
    inputs,
    outputs.map(({ name }) => name),
  );
  const copies = made.map((tensor) => {
    if (!(tensor instanceof Tensor) || !(tensor.data instanceof Float32Array)) {
      throw new TypeError('inputs of linear layers are float32');
    }
    return new Float32Array(tensor.data);
  });
  for (const tensor of [...inputs.values(), ...made]) tensor.release();
  session.release();
  return new Map(matrices.map(({ name }, i) => [name, copies[i] ?? new Float32Array()]));
}
