import type { LoadedGraph, ValueInfo } from './loaded-graph.ts';
import { addressOf } from './native-memory.ts';
import type { Handle } from './handle.ts';

/**
 * Inputs and outputs of a run, by name. Bound once and run many times: between runs only the contents
 * of the tensors change. The same tensor may be bound as an input and an output.
 *
 * Not ONNX Runtime's own IoBinding: that one copies an input to a device when it is bound, outside
 * of any run, where WebGPU reports no failure. Here each run copies, and can fail.
 *
 * The binding does not own its tensors; it references them, so they aren't collected while bound.
 */
export class IoBinding {
  readonly inputs: BoundTensors;
  readonly outputs: BoundTensors;

  constructor(session: LoadedGraph) {
    this.inputs = new BoundTensors('input', session.inputs);
    this.outputs = new BoundTensors('output', session.outputs);
  }

  /** @throws RangeError when the graph has no such input */
  bindInput(name: string, tensor: Handle): void {
    this.inputs.bind(name, tensor);
  }

  /** @throws RangeError when the graph has no such output */
  bindOutput(name: string, tensor: Handle): void {
    this.outputs.bind(name, tensor);
  }
}

/** Tensors under names of a graph's inputs or outputs, in the form that a run takes. */
class BoundTensors {
  readonly #kind: string;
  /** All there are, as C strings. */
  readonly #known: ReadonlyMap<string, Uint8Array>;
  readonly #bound = new Map<string, Handle>();
  readonly #values: BigUint64Array;
  /** Addresses of the bound names, in the order in which they were first bound. */
  readonly names: BigUint64Array;

  constructor(kind: string, infos: readonly ValueInfo[]) {
    this.#kind = kind;
    const encoder = new TextEncoder();
    this.#known = new Map(infos.map(({ name }) => [name, encoder.encode(`${name}\0`)]));
    this.#values = new BigUint64Array(infos.length);
    this.names = new BigUint64Array(infos.length);
  }

  get count(): number {
    return this.#bound.size;
  }

  bind(name: string, tensor: Handle): void {
    const text = this.#known.get(name);
    if (!text) {
      const known = [...this.#known.keys()].join(', ');
      throw new RangeError(`the graph has no ${this.#kind} "${name}"; it has ${known}`);
    }
    if (!this.#bound.has(name)) this.names[this.#bound.size] = addressOf(text);
    this.#bound.set(name, tensor);
  }

  /**
   * Addresses of the bound tensors, in the order of `names`.
   * @throws Error when one was released
   */
  values(): BigUint64Array {
    let index = 0;
    for (const { pointer } of this.#bound.values()) this.#values[index++] = pointer;
    return this.#values;
  }
}
