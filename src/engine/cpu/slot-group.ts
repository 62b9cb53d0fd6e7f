import { type KvLayers, kvNames, sameMemory } from '../../model/graph/kv-names.ts';
import type { IoBinding } from '../../ort/io-binding.ts';
import { Tensor } from '../../ort/tensor.ts';
import { isEmbedding } from '../prompt-embeddings.ts';
import { type Segment, tokenIdsOf } from '../step.ts';
import type { StateCache } from '../states/state-cache.ts';
import type { KvStorage } from './kv-storage.ts';
import { StateInputs } from './state-inputs.ts';
import type { StatePools } from './state-pools.ts';

/** Segment of a run, and the place of its first token in the group. */
interface WrittenSegment {
  readonly segment: Segment;
  readonly place: number;
}

/** States that runs read and write, and who knows which rows are whose. */
export interface RunStates {
  readonly pools: StatePools;
  readonly rows: Pick<StateCache, 'rowsOf'>;
}

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
  /** By tensor, several where layers read the keys and values of another. */
  readonly #presentNames: readonly (readonly string[])[];
  readonly #totalSequenceLength = new Int32Array(1);
  readonly #total: Tensor;
  readonly #written: WrittenSegment[] = [];
  readonly #layers: KvLayers;
  readonly #stateRows: RunStates['rows'] | null;
  /** Null where layers have no states. */
  readonly states: StateInputs | null;
  #firstSlot = 0;
  #numSlots = 0;
  #seqlensK = new Int32Array(0);
  #slotTensors: Tensor[] = [];
  #inputIds: { data: BigInt64Array; tensor: Tensor } | undefined;

  /**
   * @param prefix of the group's names in the graph
   * @param layers of the cache that the graph has; all if left out
   * @param outputs names of all of the graph's, if several may be the same memory
   */
  constructor(
    binding: IoBinding,
    storage: KvStorage,
    prefix: string,
    states: RunStates | null = null,
    layers: KvLayers = { first: 0, count: storage.shape.heads.length },
    outputs: readonly string[] = [],
  ) {
    this.#binding = binding;
    this.#storage = storage;
    this.#prefix = prefix;
    this.#stateRows = states?.rows ?? null;
    this.states = states && new StateInputs(binding, prefix);
    this.#layers = layers;
    const { first, count } = layers;
    this.#pastNames = kvNames('past_key_values', count, first).map((name) => prefix + name);
    this.#presentNames = kvNames('present', count, first).map((name) =>
      sameMemory(outputs, prefix + name),
    );
    this.#total = Tensor.over('int32', [], this.#totalSequenceLength);
    binding.bindInput(`${prefix}total_sequence_length`, this.#total);
  }

  /** Points the group at other slots; cheap when they are the same. */
  bindSlots(firstSlot: number, numSlots: number): void {
    if (firstSlot === this.#firstSlot && numSlots === this.#numSlots) return;
    const before = this.#slotTensors;
    const kv = this.#storage.view(firstSlot, numSlots, this.#layers);
    this.#seqlensK = new Int32Array(numSlots);
    const seqlensK = Tensor.over('int32', [numSlots], this.#seqlensK);
    this.#binding.bindInput(`${this.#prefix}seqlens_k`, seqlensK);
    for (const [index, tensor] of kv.entries()) {
      this.#binding.bindInput(this.#pastNames[index] ?? '', tensor);
      for (const name of this.#presentNames[index] ?? []) this.#binding.bindOutput(name, tensor);
    }
    for (const tensor of before) tensor.release();
    this.#slotTensors = [...kv, seqlensK];
    this.states?.resize(numSlots);
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

  /**
   * Begins the next run: all its token ids are 0. Another number of them than the last run's rebinds
   * that one input.
   */
  begin(tokensPerSlot: number): void {
    this.#written.length = 0;
    this.states?.clear();
    this.inputIds(tokensPerSlot).fill(0n);
  }

  /** Writes a segment's token ids, from a place of the group's on. Embeddings have the id 0. */
  write(segment: Segment, place: number): void {
    const tokenIds = tokenIdsOf(segment);
    const inputIds = this.#inputIds?.data ?? new BigInt64Array();
    for (let at = 0; at < tokenIds.length; at++) {
      const id = tokenIds[at] ?? 0;
      inputIds[place + at] = isEmbedding(id) ? 0n : BigInt(id);
    }
    this.#written.push({ segment, place });
    if (this.#stateRows === null) return;
    const index = (place * this.#numSlots) / inputIds.length;
    this.states?.set(index, this.#stateRows.rowsOf(segment), tokenIds.length);
  }

  /** Segments of the run. */
  get written(): readonly WrittenSegment[] {
    return this.#written;
  }

  /** Those of prompts that have embeddings in place of tokens. */
  get embedded(): readonly WrittenSegment[] {
    return this.#written.filter(({ segment }) => segment.sequence.request.embeddings !== undefined);
  }

  /** Tokens of the run, padding included. */
  get numTokens(): number {
    return this.#inputIds?.data.length ?? 0;
  }

  /** Position of every token: those of a slot are its last ones, and begin at 0 where they are all padded. */
  positions(): Int32Array {
    const tokensPerSlot = this.numTokens / this.#numSlots;
    return Int32Array.from({ length: this.numTokens }, (_, place) => {
      const last = this.#seqlensK[Math.floor(place / tokensPerSlot)] ?? 0;
      return Math.max(0, last + 1 - tokensPerSlot) + (place % tokensPerSlot);
    });
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
    this.states?.release();
  }
}
