import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { floatInitializer } from '../quantize/float-matrix.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import type { FloatType } from '../quantize/weight-format.ts';

/**
 * Adds xIELU (arXiv 2411.13010), whose weights are trained: beta x, plus a square where x is positive, or
 * else a multiple of e^x - 1 - x.
 * @param tensor prefix of its tensors
 * @returns its output's name
 */
export function emitXielu(
  graph: GraphBuilder,
  weights: WeightSource,
  type: FloatType,
  tensor: string,
  value: string,
): string {
  const weight = (name: string, load: () => Promise<number>) =>
    floatInitializer(graph, `${tensor}.${name}`, [1], type, async () =>
      Float32Array.of(await load()),
    );
  const stored = async (name: string, shape: readonly number[]) =>
    (await weights.get(`${tensor}.${name}`, shape))[0] ?? 0;
  const beta = weight('beta', () => stored('beta', []));
  const alphaP = weight('alpha_p', async () => softplus(await stored('alpha_p', [1])));
  const alphaN = weight(
    'alpha_n',
    async () => (await stored('beta', [])) + softplus(await stored('alpha_n', [1])),
  );

  const name = (part: string) => `${value}/xIELU/${part}`;
  const positive = graph.node(name('Positive'), 'Relu', [value]);
  const square = graph.node(name('Square'), 'Mul', [positive, positive]);
  // 0 where x is positive.
  const exponential = graph.node(name('Elu'), 'Elu', [value]);
  const rest = graph.node(name('Rest'), 'Sub', [exponential, value]);
  const parts = [
    graph.node(name('Linear'), 'Mul', [value, beta]),
    graph.node(name('Squared'), 'Mul', [square, alphaP]),
    graph.node(name('Curved'), 'Mul', [rest, alphaN]),
  ];
  return graph.node(name('Sum'), 'Sum', parts);
}

function softplus(value: number): number {
  return Math.log1p(Math.exp(value));
}
