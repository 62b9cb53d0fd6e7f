import type { ChannelReaches } from '../model/encoder/smoothing.ts';
import { runForOutputs } from '../ort/run-for-outputs.ts';
import { Session } from '../ort/session.ts';
import { Tensor } from '../ort/tensor.ts';

/**
 * The largest magnitude of each channel of some outputs of a graph.
 * @param inputs by name; they are released
 * @param outputs names of those that are looked at, float32 [..., channels]
 */
export function channelReaches(
  graphPath: string,
  inputs: ReadonlyMap<string, Tensor>,
  outputs: readonly string[],
): ChannelReaches {
  const session = new Session(graphPath);
  const tensors = runForOutputs(session, inputs, outputs);
  try {
    return new Map(outputs.map((name, index) => [name, reachOf(tensors[index])]));
  } finally {
    for (const tensor of [...inputs.values(), ...tensors]) tensor.release();
    session.release();
  }
}

function reachOf(output: unknown): Float32Array {
  const values = output instanceof Tensor ? output.data : null;
  if (!(output instanceof Tensor) || !(values instanceof Float32Array)) {
    throw new Error('a normalization has an output that is not float32');
  }
  const channels = output.shape.at(-1) ?? 1;
  const reach = new Float32Array(channels);
  for (let i = 0; i < values.length; i++) {
    const channel = i % channels;
    reach[channel] = Math.max(reach[channel] ?? 0, Math.abs(values[i] ?? 0));
  }
  return reach;
}
