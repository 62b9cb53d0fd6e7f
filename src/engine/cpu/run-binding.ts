import { HIDDEN_OUTPUT } from '../../model/graph/decoder-parts.ts';
import { kvLayers } from '../../model/graph/kv-names.ts';
import { BEST_OUTPUT as BEST, WANTS_LOGITS } from '../../model/native/best.ts';
import { IoBinding } from '../../ort/io-binding.ts';
import type { Session } from '../../ort/session.ts';
import { Tensor } from '../../ort/tensor.ts';
import { AdapterMask, type TokenOwners } from './adapter-mask.ts';
import type { AdapterSlots } from './adapter-slots.ts';
import { EmbeddingInputs, embeddingWidthOf } from './embedding-inputs.ts';
import { EndInputs, takesEnds } from './end-inputs.ts';
import { deliver, hiddenInput, hiddenOutput, type HiddenRows } from './hidden-rows.ts';
import type { KvStorage } from './kv-storage.ts';
import type { HiddenSink } from '../prediction.ts';
import type { LogitsBuffer } from './logits-buffer.ts';
import { PositionInputs, takesPositions } from './position-inputs.ts';
import { type RunStates, SlotGroup } from './slot-group.ts';

/** Memory that runs read and write, beside what a step fills in. */
export interface RunMemory {
  readonly storage: KvStorage;
  readonly logits: LogitsBuffer;
  /** Null or left out where the graph has no inputs for them. */
  readonly adapters?: AdapterSlots | null;
  /** Null or left out where no layer has any. */
  readonly states?: RunStates | null;
  /** Reader of hidden states, if the graph outputs those of all tokens. */
  readonly hidden?: HiddenSink | null;
}

/**
 * Inputs and outputs of a decoder graph's runs, bound once: a step only rewrites the contents of a few
 * small arrays, as long as its shape is that of the step before.
 */
export class RunBinding {
  readonly #session: Session;
  readonly #logits: LogitsBuffer;
  readonly #binding: IoBinding;
  readonly #groups: readonly SlotGroup[];
  readonly #adapters: AdapterMask | null;
  readonly #embeddings: EmbeddingInputs | null;
  readonly #positions: PositionInputs | null;
  readonly #ends: EndInputs | null;
  readonly #previousHidden: HiddenRows | null;
  readonly #allHidden: HiddenRows | null;
  readonly #sink: HiddenSink | null;
  #wanted: { index: BigInt64Array; tensor: Tensor } | undefined;
  /** Whether the graph finds the likeliest tokens itself. */
  readonly findsBest: boolean;
  /** Set where the graph can leave logits out. */
  readonly #wantsLogits: { value: Int32Array; tensor: Tensor } | null;
  #hasLogits = true;
  #output: { firstRow: number; numRows: number; numLogits: number; tensors: Tensor[] } | undefined;

  /** @param prefilling of the mixed graph's second slot group; null for a graph with one */
  constructor(
    session: Session,
    { storage, logits, adapters = null, states = null, hidden = null }: RunMemory,
    prefilling: KvStorage | null = null,
  ) {
    this.#session = session;
    this.#logits = logits;
    this.#binding = new IoBinding(session);
    this.findsBest = session.outputs.some(({ name }) => name === BEST);
    this.#wantsLogits = this.#bindWantsLogits();
    this.#adapters = adapters && new AdapterMask(this.#binding, adapters);
    const width = embeddingWidthOf(session);
    this.#embeddings = width === null ? null : new EmbeddingInputs(this.#binding, width);
    this.#positions = takesPositions(session) ? new PositionInputs(this.#binding) : null;
    this.#ends = takesEnds(session) ? new EndInputs(this.#binding) : null;
    this.#previousHidden = hiddenInput(session, this.#binding);
    this.#allHidden = hidden && hiddenOutput(session, this.#binding);
    this.#sink = hidden;
    states?.pools.bind(this.#binding);
    const layers = kvLayers(session.inputs.map(({ name }) => name));
    const outputs = session.outputs.map(({ name }) => name);
    const groupOf = (cache: KvStorage, prefix: string) =>
      new SlotGroup(this.#binding, cache, prefix, states, layers, outputs);
    const decoding = groupOf(storage, '');
    this.#groups = prefilling ? [decoding, groupOf(prefilling, 'prefill.')] : [decoding];
  }

  /** @throws RangeError when the graph has fewer groups */
  group(index = 0): SlotGroup {
    const group = this.#groups[index];
    if (!group) throw new RangeError(`there is no slot group ${index}`);
    return group;
  }

  /**
   * Runs the graph over what its groups hold.
   * @param wanted at least one place among the groups' token ids, one group after the other
   * @param owners of the groups' token ids, in the same order
   * @param readsLogits of some of them; otherwise a graph that finds the likeliest tokens may leave
   *   logits out
   * @returns the row of the logits buffer that the first one's logits went to; the others follow
   * @throws OrtError when the run fails; the cache then holds what it held, in valid positions
   */
  run(wanted: readonly number[], owners: TokenOwners = () => [], readsLogits = true): number {
    for (const group of this.#groups) group.finish();
    const numTokens = this.#groups.reduce((sum, group) => sum + group.numTokens, 0);
    this.#adapters?.fill(owners, numTokens);
    this.#embeddings?.fill(this.#groups);
    this.#positions?.fill(this.#groups);
    this.#ends?.fill(this.#groups);
    this.#allHidden?.ofTokens(numTokens);
    this.#bindWanted(wanted);
    const firstRow = this.#logits.reserve(wanted.length);
    this.#hasLogits = readsLogits || this.#wantsLogits === null;
    if (this.#wantsLogits) this.#wantsLogits.value[0] = Number(this.#hasLogits);
    this.#bindOutput(firstRow, wanted.length, this.#hasLogits ? wanted.length : 0);
    try {
      this.#session.run(this.#binding);
    } catch (error) {
      this.#logits.giveBack(firstRow);
      throw error;
    }
    return firstRow;
  }

  /** The array [tokens, hidden] of a module that predicts, to write the next run's hidden states to. */
  previousHidden(numTokens: number): Float32Array {
    if (this.#previousHidden === null) throw new Error('the graph reads no hidden states');
    return this.#previousHidden.ofTokens(numTokens);
  }

  /** Gives the hidden states of the run that just succeeded to their reader, if there is one. */
  deliverHidden(): void {
    if (this.#allHidden && this.#sink) deliver(this.#allHidden, this.#groups, this.#sink);
  }

  #bindWanted(wanted: readonly number[]): void {
    if (this.#wanted?.index.length !== wanted.length) {
      const before = this.#wanted;
      const index = new BigInt64Array(wanted.length);
      const tensor = Tensor.over('int64', [wanted.length], index);
      this.#binding.bindInput('logits_index', tensor);
      before?.tensor.release();
      this.#wanted = { index, tensor };
    }
    for (const [at, place] of wanted.entries()) this.#wanted.index[at] = BigInt(place);
  }

  /** Whether the last run wrote logits. */
  get hasLogits(): boolean {
    return this.#hasLogits;
  }

  #bindWantsLogits(): { value: Int32Array; tensor: Tensor } | null {
    if (!this.#session.inputs.some(({ name }) => name === WANTS_LOGITS)) return null;
    const value = new Int32Array(1);
    const tensor = Tensor.over('int32', [], value);
    this.#binding.bindInput(WANTS_LOGITS, tensor);
    return { value, tensor };
  }

  #bindOutput(firstRow: number, numRows: number, numLogits: number): void {
    const before = this.#output;
    const isSame = before?.firstRow === firstRow && before.numRows === numRows;
    if (isSame && before.numLogits === numLogits) return;
    const logits = this.#logits.tensor(firstRow, numLogits);
    this.#binding.bindOutput('logits', logits);
    const tensors: Tensor[] = [logits];
    // Computed anyway: bound it is written where it is read, and not bound it would be elsewhere.
    const hidden = this.#logits.hiddenTensor(firstRow, numRows);
    if (hidden) {
      this.#binding.bindOutput(HIDDEN_OUTPUT, hidden);
      tensors.push(hidden);
    }
    if (this.findsBest) {
      const best = this.#logits.bestTensor(firstRow, numRows);
      this.#binding.bindOutput(BEST, best);
      tensors.push(best);
    }
    for (const tensor of before?.tensors ?? []) tensor.release();
    this.#output = { firstRow, numRows, numLogits, tensors };
  }

  release(): void {
    for (const group of this.#groups) group.release();
    this.#adapters?.release();
    this.#embeddings?.release();
    this.#positions?.release();
    this.#ends?.release();
    this.#previousHidden?.release();
    this.#allHidden?.release();
    this.#wanted?.tensor.release();
    this.#wantsLogits?.tensor.release();
    for (const tensor of this.#output?.tensors ?? []) tensor.release();
  }
}
