import { setImmediate } from 'node:timers/promises';
import { dataFromBytes, type TensorValue } from '../tensors/tensor.ts';
import type { SentTensor, TensorsPart } from './protocol.ts';

/** Texts of a tensor that are split in a turn of the event loop. */
const TEXTS_PER_TURN = 4096;

/** Collects tensors that arrive in parts, see inParts. */
export class ReceivedTensors {
  #bytes: Uint8Array | undefined;

  add({ offset, totalBytes, bytes }: TensorsPart): void {
    // Zeros would take as long as all parts do, and in one turn.
    this.#bytes ??= Buffer.allocUnsafeSlow(totalBytes);
    this.#bytes.set(bytes, offset);
  }

  /** The tensors that lie in the parts; to be called once, when all parts are there. */
  async take(lists: readonly (readonly SentTensor[])[]): Promise<TensorValue[][]> {
    const all: TensorValue[][] = [];
    for (const list of lists) {
      const tensors: TensorValue[] = [];
      for (const tensor of list) tensors.push(await this.#tensor(tensor));
      all.push(tensors);
    }
    this.#bytes = undefined;
    return all;
  }

  async #tensor({ name, datatype, shape, offset, numBytes, lengths }: SentTensor) {
    const bytes = this.#bytes?.subarray(offset, offset + numBytes) ?? new Uint8Array();
    if (datatype !== 'BYTES')
      return { name, datatype, shape, data: dataFromBytes(datatype, bytes) };
    const data: Uint8Array[] = [];
    let at = 0;
    for (const length of lengths) {
      data.push(bytes.subarray(at, at + length));
      at += length;
      if (data.length % TEXTS_PER_TURN === 0) await setImmediate();
    }
    return { name, datatype, shape, data };
  }
}
