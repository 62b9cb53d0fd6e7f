import { STATE_INPUTS } from '../../model/graph/state-names.ts';
import type { IoBinding } from '../../ort/io-binding.ts';
import { Tensor } from '../../ort/tensor.ts';
import { NO_ROW } from '../states/state-rows.ts';
import type { RunRows } from '../states/state-cache.ts';

/** Which rows of the states' pools a group's slots read and write, as inputs of a graph. */
export class StateInputs {
  readonly #binding: IoBinding;
  readonly #prefix: string;
  /** [slots] each */
  #from = new Int32Array();
  #to = new Int32Array();
  #numTokens = new Int32Array();
  #tensors: readonly Tensor[] = [];

  /** @param prefix of the group's names in the graph */
  constructor(binding: IoBinding, prefix: string) {
    this.#binding = binding;
    this.#prefix = prefix;
  }

  resize(numSlots: number): void {
    const before = this.#tensors;
    this.#from = new Int32Array(numSlots);
    this.#to = new Int32Array(numSlots);
    this.#numTokens = new Int32Array(numSlots);
    const arrays = [this.#from, this.#to, this.#numTokens];
    this.#tensors = arrays.map((array, index) => {
      const tensor = Tensor.over('int32', [numSlots], array);
      this.#binding.bindInput(`${this.#prefix}${STATE_INPUTS[index]}`, tensor);
      return tensor;
    });
    for (const tensor of before) tensor.release();
    this.clear();
  }

  /** No slot reads or writes a state: all their tokens are padding. */
  clear(): void {
    this.#from.fill(NO_ROW);
    this.#to.fill(NO_ROW);
    this.#numTokens.fill(0);
  }

  /** @param numTokens after which the state is written: those after them are padding */
  set(slot: number, { from, to }: RunRows, numTokens: number): void {
    this.#from[slot] = from;
    this.#to[slot] = to;
    this.#numTokens[slot] = numTokens;
  }

  release(): void {
    for (const tensor of this.#tensors) tensor.release();
  }
}
