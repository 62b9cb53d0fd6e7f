import { IoBinding } from '../../ort/io-binding.ts';
import type { ElementType, TypedArrayOf } from '../../ort/element-type.ts';
import type { RunOptions } from '../../ort/run-options.ts';
import type { Session } from '../../ort/session.ts';
import { Tensor } from '../../ort/tensor.ts';
import { onDevice } from './device-error.ts';

/** Bytes copied between the host's memory and the device's since the start. */
export interface BusTraffic {
  bytesUp: number;
  bytesDown: number;
}

/**
 * A graph on a device, bound once and run many times. Tensors in device memory stay where they are;
 * what is in the host's memory crosses the bus in each run.
 */
export class DeviceRun {
  readonly #session: Session;
  readonly #binding: IoBinding;
  readonly #traffic: BusTraffic;
  /** By name, in the host's memory. */
  readonly #hostInputs = new Map<string, Tensor>();
  readonly #hostOutputs = new Map<string, Tensor>();

  constructor(session: Session, traffic: BusTraffic) {
    this.#session = session;
    this.#binding = new IoBinding(session);
    this.#traffic = traffic;
  }

  /** Binds a tensor in device memory, which the caller keeps. */
  bindInput(name: string, tensor: Tensor): void {
    this.#binding.bindInput(name, tensor);
  }

  /** Binds an output, which the caller keeps; it may be a tensor that is bound as an input, too. */
  bindOutput(name: string, tensor: Tensor): void {
    this.#binding.bindOutput(name, tensor);
  }

  /** Has `data`, which the run holds on to, sent to the device by the runs to come. */
  upload<T extends ElementType>(
    name: string,
    type: T,
    shape: readonly number[],
    data: TypedArrayOf<T>,
  ): void {
    const tensor = Tensor.over(type, shape, data);
    this.#binding.bindInput(name, tensor);
    this.#hostInputs.get(name)?.release();
    this.#hostInputs.set(name, tensor);
  }

  /** Has an output brought to `data` by the runs to come. */
  download<T extends ElementType>(
    name: string,
    type: T,
    shape: readonly number[],
    data: TypedArrayOf<T>,
  ): void {
    const tensor = Tensor.over(type, shape, data);
    this.#binding.bindOutput(name, tensor);
    this.#hostOutputs.get(name)?.release();
    this.#hostOutputs.set(name, tensor);
  }

  /** @throws DeviceError when the run fails, as when the device is lost */
  run(options?: RunOptions): void {
    onDevice(() => this.#session.run(this.#binding, options));
    this.#traffic.bytesUp += totalBytes(this.#hostInputs);
    this.#traffic.bytesDown += totalBytes(this.#hostOutputs);
  }

  release(): void {
    for (const tensor of this.#hostInputs.values()) tensor.release();
    for (const tensor of this.#hostOutputs.values()) tensor.release();
    this.#hostInputs.clear();
    this.#hostOutputs.clear();
  }
}

function totalBytes(tensors: ReadonlyMap<string, Tensor>): number {
  let bytes = 0;
  for (const { byteLength } of tensors.values()) bytes += byteLength;
  return bytes;
}
