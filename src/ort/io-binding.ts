import { ort, type Pointer } from './api.ts';
import { Handle } from './handle.ts';
import type { Session } from './session.ts';
import type { Tensor } from './tensor.ts';

/**
 * What a run reads and writes, by name. Bound once and run many times: between runs only the
 * contents of the tensors change. The same tensor may be bound as an input and an output.
 *
 * The binding does not own its tensors; it references them, so they aren't collected while bound.
 */
export class IoBinding extends Handle {
  readonly #bound = new Map<string, Tensor>();
  readonly #inputNames: ReadonlySet<string>;
  readonly #outputNames: ReadonlySet<string>;

  constructor(session: Session) {
    super(ort().api.CreateIoBinding(session.pointer));
    this.#inputNames = new Set(session.inputs.map(({ name }) => name));
    this.#outputNames = new Set(session.outputs.map(({ name }) => name));
  }

  /** @throws RangeError when the graph has no such input */
  bindInput(name: string, tensor: Tensor): void {
    requireName(this.#inputNames, 'input', name);
    ort().api.BindInput(this.pointer, name, tensor.pointer);
    this.#bound.set(`in ${name}`, tensor);
  }

  /** @throws RangeError when the graph has no such output */
  bindOutput(name: string, tensor: Tensor): void {
    requireName(this.#outputNames, 'output', name);
    ort().api.BindOutput(this.pointer, name, tensor.pointer);
    this.#bound.set(`out ${name}`, tensor);
  }

  /** Waits until inputs have arrived on the device. */
  synchronizeInputs(): void {
    ort().api.SynchronizeBoundInputs(this.pointer);
  }

  /** Waits until outputs are written. */
  synchronizeOutputs(): void {
    ort().api.SynchronizeBoundOutputs(this.pointer);
  }

  clear(): void {
    ort().api.ClearBoundInputs(this.pointer);
    ort().api.ClearBoundOutputs(this.pointer);
    this.#bound.clear();
  }

  protected override free(pointer: Pointer): void {
    ort().api.ReleaseIoBinding(pointer);
    this.#bound.clear();
  }
}

/** Checked here, because ONNX Runtime leaves a binding unusable after a name it doesn't know. */
function requireName(names: ReadonlySet<string>, kind: string, name: string): void {
  if (names.has(name)) return;
  throw new RangeError(`the graph has no ${kind} "${name}"; it has ${[...names].join(', ')}`);
}
