import { ADAPTER_MASK } from '../../model/graph/live-adapter-shape.ts';
import type { IoBinding } from '../../ort/io-binding.ts';
import { Tensor } from '../../ort/tensor.ts';
import type { Segment } from '../step.ts';
import type { AdapterSlots } from './adapter-slots.ts';

/** Returns the owner of each token of a run; undefined for padding. Called where it matters. */
export type TokenOwners = () => readonly (Segment | undefined)[];

/** Binds the adapters and their per-token mask as inputs of one binding's runs. */
export class AdapterMask {
  readonly #binding: IoBinding;
  readonly #slots: AdapterSlots;
  #numActive: number | null = null;
  #mask: { values: Float32Array; tensor: Tensor } | undefined;

  constructor(binding: IoBinding, slots: AdapterSlots) {
    this.#binding = binding;
    this.#slots = slots;
  }

  /** @param numTokens of the run, padding after the owners' included */
  fill(owners: TokenOwners, numTokens: number): void {
    const { numActive } = this.#slots;
    if (numActive !== this.#numActive) {
      for (const [name, tensor] of this.#slots.tensors()) this.#binding.bindInput(name, tensor);
      this.#numActive = numActive;
    }
    const values = this.#values(numTokens, numActive).fill(0);
    for (const [place, segment] of owners().entries()) {
      const adapter = segment?.sequence.request.adapter;
      if (adapter) values[place * numActive + this.#slots.slotOf(adapter)] = adapter.scale;
    }
  }

  #values(numTokens: number, numActive: number): Float32Array {
    const before = this.#mask;
    const [tokens, slots] = before?.tensor.shape ?? [];
    if (before && tokens === numTokens && slots === numActive) return before.values;
    // Memory of no bytes has no address.
    const values = new Float32Array(Math.max(1, numTokens * numActive));
    const tensor = Tensor.over('float', [numTokens, numActive], values);
    this.#binding.bindInput(ADAPTER_MASK, tensor);
    before?.tensor.release();
    this.#mask = { values, tensor };
    return values;
  }

  release(): void {
    this.#mask?.tensor.release();
  }
}
