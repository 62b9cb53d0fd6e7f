import { GraphBuilder } from '../../../onnx/graph-builder.ts';
import type { Allocator } from '../../../ort/allocator.ts';
import type { ElementType } from '../../../ort/element-type.ts';
import { RunOptions } from '../../../ort/run-options.ts';
import { Session } from '../../../ort/session.ts';
import { Tensor } from '../../../ort/tensor.ts';
import { type DeviceOptions, executionProviders } from '../device-options.ts';
import { type BusTraffic, DeviceRun } from '../device-run.ts';

/**
 * Inputs of decode runs in addition to the cache, with their shapes. `total_sequence_length` is the
 * longest length.
 */
const INPUTS = [
  ['input_ids', 'int64', ['slots', 1]],
  ['seqlens_k', 'int32', ['slots']],
  ['total_sequence_length', 'int32', []],
  ['logits_index', 'int64', ['slots']],
] as const satisfies readonly (readonly [string, ElementType, readonly (string | 1)[]])[];

/** Each captured graph keeps memory of its own for everything in it. */
const MAX_GRAPHS = 16;

const OPTIONS = {
  enableGraphCapture: '1',
  // Joins a shape's parts: the provider would run this too, and copy to the host and back.
  forceCpuNodeNames: 'packing/shape',
};

/** How runs of a session that captures graphs are made. */
export interface RunMode {
  readonly options: RunOptions;
  /** Fills the inputs that the run reads; null for a run that takes its inputs directly. */
  readonly inputs: CapturedInputs | null;
}

export interface CapturedInputs {
  /** Copies from the host's memory, under the names of the decoder graph's inputs. */
  readonly copy: DeviceRun;
  /** In device memory, by name. */
  readonly tensors: ReadonlyMap<string, Tensor>;
}

/**
 * Decode runs that the provider records, kernel by kernel, when they are first made and replays
 * from then on, for each number of slots. A recorded run reads and writes the same memory every
 * time. So its inputs are in the device's memory, and a graph of their own copies them there. A
 * replay reports no failure, but the copies before it and the sampling after it do.
 */
export class GraphCapture {
  /** For runs of ever new shapes. */
  readonly eager: RunMode = {
    options: new RunOptions({ gpu_graph_id: '-1' }),
    inputs: null,
  };
  readonly #allocator: Allocator;
  readonly #traffic: BusTraffic;
  readonly #session: Session;
  readonly #modes: RunMode[] = [];

  /** @param allocator of the device's memory; released by the caller */
  constructor(device: DeviceOptions, allocator: Allocator, traffic: BusTraffic) {
    this.#allocator = allocator;
    this.#traffic = traffic;
    this.#session = new Session(copyGraph(), { providers: executionProviders(device) });
  }

  /** A device's options for the sessions whose runs are captured. */
  static optionsOf(device: DeviceOptions): DeviceOptions {
    return { ...device, providerOptions: { ...device.providerOptions, ...OPTIONS } };
  }

  /** How to run another number of slots, one token each; eager beyond the first 16 of them. */
  decode(numSlots: number): RunMode {
    if (this.#modes.length === MAX_GRAPHS) return this.eager;
    const copy = new DeviceRun(this.#session, this.#traffic);
    const tensors = new Map<string, Tensor>();
    for (const [name, type, shape] of INPUTS) {
      const dims = shape.map((dimension) => (dimension === 1 ? 1 : numSlots));
      const tensor = Tensor.allocate(type, dims, this.#allocator);
      copy.bindOutput(copied(name), tensor);
      tensors.set(name, tensor);
    }
    const id = this.#modes.length + 1;
    const options = new RunOptions({ gpu_graph_id: String(id) });
    const mode = { options, inputs: { copy, tensors } };
    this.#modes.push(mode);
    return mode;
  }

  /** Before the allocator. */
  release(): void {
    for (const { options, inputs } of [...this.#modes, this.eager]) {
      options.release();
      inputs?.copy.release();
      for (const tensor of inputs?.tensors.values() ?? []) tensor.release();
    }
    this.#session.release();
  }
}

function copyGraph(): Uint8Array {
  const graph = new GraphBuilder('copy-inputs');
  for (const [name, type, shape] of INPUTS) {
    graph.input(name, type, shape);
    graph.node(copied(name), 'Identity', [name]);
    graph.output(copied(name), type, shape);
  }
  return graph.toBytes();
}

function copied(name: string): string {
  return `${name}/Copied`;
}
