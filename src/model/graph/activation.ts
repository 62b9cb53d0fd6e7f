import { MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import type { GraphNodes } from '../../onnx/graph-nodes.ts';
import type { Activation } from '../huggingface/activation.ts';

/** Activation of a decoder or a tower. */
type AnyActivation = Activation | 'quick_gelu';

/** Adds an activation; returns its output's name. */
export function emitActivation(
  graph: GraphNodes,
  value: string,
  activation: AnyActivation,
): string {
  if (activation === 'xielu') throw new TypeError('xIELU has weights: see emitXielu');
  const domain = MICROSOFT_DOMAIN;
  if (activation === 'gelu') return graph.node(`${value}/GELU`, 'Gelu', [value], { domain });
  if (activation === 'gelu_tanh')
    return graph.node(`${value}/GELU`, 'FastGelu', [value], { domain });
  if (activation === 'relu' || activation === 'relu2') {
    const positive = graph.node(`${value}/ReLU`, 'Relu', [value]);
    if (activation === 'relu') return positive;
    return graph.node(`${value}/Squared`, 'Mul', [positive, positive]);
  }
  // With alpha 1 this is SiLU, in one kernel.
  const [name, alpha] = activation === 'silu' ? ['SiLU', 1] : ['QuickGELU', 1.702];
  const attributes = { alpha };
  return graph.node(`${value}/${name}`, 'QuickGelu', [value], { domain, attributes });
}

/** Gates, activated, times ups: `gateUp` [rows, 2 n] has both side by side, and becomes [rows, n]. */
export function emitGated(
  graph: GraphNodes,
  prefix: string,
  gateUp: string,
  activation: AnyActivation,
): string {
  const { gate, up } = splitGates(graph, prefix, gateUp);
  return graph.node(`${prefix}/Mul`, 'Mul', [emitActivation(graph, gate, activation), up]);
}

export function splitGates(graph: GraphNodes, prefix: string, gateUp: string) {
  const [gate, up] = [`${prefix}/gate`, `${prefix}/up`];
  graph.node(`${prefix}/Split`, 'Split', [gateUp], {
    outputs: [gate, up],
    attributes: { axis: -1n, num_outputs: 2n },
  });
  return { gate, up };
}
