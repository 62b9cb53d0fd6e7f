import { kvNames } from '../../model/graph/kv-names.ts';
import type { IoBinding } from '../../ort/io-binding.ts';
import { Tensor } from '../../ort/tensor.ts';
import type { KvStorage } from './kv-storage.ts';

/**
 * A contiguous range of KV cache slots, bound to one group of a graph's inputs and outputs.
 *
 * The cache's tensors are bound as `past_key_values.*` and as `present.*`: GroupQueryAttention
 * sees that both are the same memory and appends in place.
 */
export class SlotGroup {
  readonly #binding: IoBinding;
  readonly #storage: KvStorage;
  readonly #prefix: string;
  readonly #pastNames: readonly string[];
  readonly #presentNames: readonly string[];
  readonly #totalSequenceLength = new Int32Array(1);
  readonly #total: Tensor;
  #firstSlot = 0;
  #numSlots = 0;
  #seqlensK = new Int32Array(0);
  #slotTensors: Tensor[] = [];
  #inputIds: { data: BigInt64Array; tensor: Tensor } | undefined;

  /** @param prefix of the group's names in the graph */
  constructor(binding: IoBinding, storage: KvStorage, prefix: string) {
    this.#binding = binding;
    this.#storage = storage;
    this.#prefix = prefix;
    const { numLayers } = storage.shape;
    this.#pastNames = kvNames('past_key_values', numLayers).map((name) => prefix + name);
    this.#presentNames = kvNames('present', numLayers).map((name) => prefix + name);
    this.#total = Tensor.over('int32', [], this.#totalSequenceLength);
    binding.bindInput(`${prefix}total_sequence_length`, this.#total);
  }

  /** Points the group at other slots; cheap when they are the same. */
  bindSlots(firstSlot: number, numSlots: number): void {
    if (firstSlot === this.#firstSlot && numSlots === this.#numSlots) return;
    const before = this.#slotTensors;
    const kv = this.#storage.view(firstSlot, numSlots);
    this.#seqlensK = new Int32Array(numSlots);
    const seqlensK = Tensor.over('int32', [numSlots], this.#seqlensK);
    this.#binding.bindInput(`${this.#prefix}seqlens_k`, seqlensK);
    for (const [index, tensor] of kv.entries()) {
      this.#binding.bindInput(this.#pastNames[index] ?? '', tensor);
      this.#binding.bindOutput(this.#presentNames[index] ?? '', tensor);
    }
    for (const tensor of before) tensor.release();
    this.#slotTensors = [...kv, seqlensK];
    [this.#firstSlot, this.#numSlots] = [firstSlot, numSlots];
  }

  /**
   * The array [slots x tokensPerSlot] to write the next run's token ids to. Asking for another size
   * than the last run's rebinds that one input.
   */
  inputIds(tokensPerSlot: number): BigInt64Array {
    const length = this.#numSlots * tokensPerSlot;
    const before = this.#inputIds;
    if (before && before.data.length === length && before.tensor.shape[1] === tokensPerSlot) {
      return before.data;
    }
    const data = new BigInt64Array(length);
    const tensor = Tensor.over('int64', [this.#numSlots, tokensPerSlot], data);
    this.#binding.bindInput(`${this.#prefix}input_ids`, tensor);
    before?.tensor.release();
    this.#inputIds = { data, tensor };
    return data;
  }

  /** Tokens of the run, padding included. */
  get numTokens(): number {
    return this.#inputIds?.data.length ?? 0;
  }

  /** @param length of the slot after the run, in positions */
  setLength(index: number, length: number): void {
    this.#seqlensK[index] = length - 1;
  }

  /** To be called when all lengths are set. */
  finish(): void {
    this.#totalSequenceLength[0] = this.#seqlensK.reduce((max, last) => Math.max(max, last), 0) + 1;
  }

  release(): void {
    this.#inputIds?.tensor.release();
    this.#total.release();
    for (const tensor of this.#slotTensors) tensor.release();
  }
}
