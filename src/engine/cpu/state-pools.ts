import { statePoolName } from '../../model/graph/state-names.ts';
import type { DecoderManifest, DecoderState } from '../../model/manifest.ts';
import type { IoBinding } from '../../ort/io-binding.ts';
import { NativeMemory } from '../../ort/native-memory.ts';
import { Tensor } from '../../ort/tensor.ts';
import { SlotRows } from '../states/slot-rows.ts';
import { bytesOfRow } from '../states/state-budget.ts';

/**
 * The memory of the states: for each a tensor of [rows, width]. It is reserved as address space; the operating
 * system commits a row when it is first written.
 */
export class StatePools {
  readonly #memory: NativeMemory;
  readonly #pools: readonly { readonly name: string; readonly tensor: Tensor }[];

  constructor(states: readonly DecoderState[], numRows: number) {
    this.#memory = new NativeMemory(numRows * bytesOfRow(states));
    let offset = 0;
    this.#pools = states.map(({ name, width }) => {
      const tensor = Tensor.overNative('float', [numRows, width], this.#memory, offset);
      offset += tensor.byteLength;
      return { name, tensor };
    });
  }

  /** Binds every pool as input and as output: a run writes other rows than it reads. */
  bind(binding: IoBinding): void {
    for (const { name, tensor } of this.#pools) {
      binding.bindInput(statePoolName('past_states', name), tensor);
      binding.bindOutput(statePoolName('present_states', name), tensor);
    }
  }

  release(): void {
    for (const { tensor } of this.#pools) tensor.release();
    this.#memory.release();
  }
}

/** States of slots whose texts only ever go on or begin anew; null of a model without. */
export function statesOfSlots({ states }: Pick<DecoderManifest, 'states'>, numSlots: number) {
  if (states === undefined) return null;
  const rows = new SlotRows(numSlots);
  return { pools: new StatePools(states, rows.numRows), rows };
}
