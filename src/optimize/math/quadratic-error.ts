import { GraphBuilder } from '../../onnx/graph-builder.ts';
import { runForOutputs } from '../../ort/run-for-outputs.ts';
import { Session } from '../../ort/session.ts';
import { Tensor } from '../../ort/tensor.ts';

/** How much an error of a matrix changes its products, by ONNX Runtime: searches ask often. */
export class QuadraticError {
  readonly #session: Session;

  constructor(threads: number) {
    const graph = new GraphBuilder('quadratic-error');
    graph.input('error', 'float', ['rows', 'columns']);
    graph.input('gram', 'float', ['columns', 'columns']);
    const product = graph.node('product', 'MatMul', ['error', 'gram']);
    const squares = graph.node('squares', 'Mul', [product, 'error']);
    graph.node('sum', 'ReduceSum', [squares], { attributes: { keepdims: 0n } });
    graph.output('sum', 'float', []);
    this.#session = new Session(graph.toBytes(), { intraOpThreads: threads });
  }

  /**
   * The sum of the squares of E x over the inputs x that a Gram matrix was summed up from.
   * @param error E [rows, columns]
   * @param gram [columns, columns]
   */
  of(error: Float32Array<ArrayBuffer>, gram: Float32Array<ArrayBuffer>): number {
    const columns = Math.sqrt(gram.length);
    const inputs = new Map([
      ['error', Tensor.over('float', [error.length / columns, columns], error)],
      ['gram', Tensor.over('float', [columns, columns], gram)],
    ]);
    const outputs = runForOutputs(this.#session, inputs, ['sum']);
    try {
      const [sum] = outputs;
      return sum instanceof Tensor ? Number(sum.data[0]) : Number.NaN;
    } finally {
      for (const tensor of [...inputs.values(), ...outputs]) tensor.release();
    }
  }

  release(): void {
    this.#session.release();
  }
}
