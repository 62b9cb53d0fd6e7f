import type { GraphBuilder } from '../../onnx/graph-builder.ts';

const LARGEST = 127;
/** For tokens whose output is nothing. */
const SMALLEST = 1e-30;

/**
 * Adds what a linear layer's output loses when its inputs become 8-bit integers: for each token the square
 * of what is lost as a share of the square of the output, summed up over the tokens [1]. So a few tokens
 * with large outputs do not hide what all others lose.
 * @param linear a layer in float32, and what it reads [tokens, columns]
 * @param step of the integers; each token has its own, as with RowQuantizer, if left out
 */
export function addRoundingError(
  graph: GraphBuilder,
  name: string,
  linear: { readonly name: string; readonly input: string },
  step: number | undefined,
): void {
  const { input } = linear;
  const columns = graph.initializer(`${name}/axis`, 'int64', [1], BigInt64Array.of(1n));
  const rounded =
    step === undefined
      ? roundedByToken(graph, name, input, columns)
      : roundedBy(graph, name, input, step);
  const lost = graph.node(`${name}/Lost`, 'Sub', [rounded, input]);
  const lostOutput = graph.node(`${name}/LostOutput`, 'MatMul', [lost, `${linear.name}.weight`]);
  const squares = (what: string, value: string) =>
    graph.node(`${name}/${what}`, 'ReduceSumSquare', [value, columns], {
      attributes: { keepdims: 0n },
    });
  const smallest = graph.initializer(`${name}/smallest`, 'float', [], Float32Array.of(SMALLEST));
  const output = squares('Output', `${linear.name}/MatMul`);
  const whole = graph.node(`${name}/Whole`, 'Max', [output, smallest]);
  const shares = graph.node(`${name}/Shares`, 'Div', [squares('Square', lostOutput), whole]);
  graph.node(name, 'ReduceSum', [shares]);
}

/** As RowQuantizer does it by the same step. */
function roundedBy(graph: GraphBuilder, name: string, input: string, step: number): string {
  const scale = graph.initializer(`${name}/step`, 'float', [], Float32Array.of(step));
  const zero = graph.initializer(`${name}/zero`, 'uint8', [], Uint8Array.of(LARGEST + 1));
  const integers = graph.node(`${name}/Integers`, 'QuantizeLinear', [input, scale, zero]);
  return graph.node(`${name}/Rounded`, 'DequantizeLinear', [integers, scale, zero]);
}

function roundedByToken(graph: GraphBuilder, name: string, input: string, axis: string): string {
  const magnitudes = graph.node(`${name}/Abs`, 'Abs', [input]);
  const largest = graph.node(`${name}/Largest`, 'ReduceMax', [magnitudes, axis]);
  const smallest = graph.initializer(`${name}/least`, 'float', [], Float32Array.of(SMALLEST));
  const some = graph.node(`${name}/Some`, 'Max', [largest, smallest]);
  const inverse = graph.initializer(`${name}/inverse`, 'float', [], Float32Array.of(1 / LARGEST));
  const steps = graph.node(`${name}/Steps`, 'Mul', [some, inverse]);
  const shares = graph.node(`${name}/InSteps`, 'Div', [input, steps]);
  const integers = graph.node(`${name}/Integers`, 'Round', [shares]);
  return graph.node(`${name}/Rounded`, 'Mul', [integers, steps]);
}
