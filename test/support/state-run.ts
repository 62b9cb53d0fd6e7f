import { argmax } from '../../src/engine/sampling/argmax.ts';
import { kvShape } from '../../src/engine/kv-shape.ts';
import { KvStorage } from '../../src/engine/cpu/kv-storage.ts';
import { SlotGroup } from '../../src/engine/cpu/slot-group.ts';
import { openGraph } from '../../src/engine/graph-session.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { STATE_INPUTS, statePoolName } from '../../src/model/graph/state-names.ts';
import { WANTS_LOGITS } from '../../src/model/native/best.ts';
import { IoBinding } from '../../src/ort/io-binding.ts';
import { NativeMemory } from '../../src/ort/native-memory.ts';
import type { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';

/** Tokens of a text in a run, and the rows of the states' pools that it reads and writes; -1 for none. */
export interface StateSegment {
  readonly ids: readonly number[];
  /** Positions before them. */
  readonly start: number;
  readonly from: number;
  readonly to: number;
}

const NONE: StateSegment = { ids: [], start: 0, from: -1, to: -1 };

/** Runs of a decoder with states, bound by hand: slots of the KV cache and rows of the pools are the caller's. */
export class StateRun {
  readonly #model: BuiltModel;
  readonly #storage: KvStorage;
  readonly #pools: { memory: NativeMemory; tensor: Tensor }[];
  readonly #sessions = new Map<string, Session>();

  constructor(model: BuiltModel, numSlots: number, capacity: number, numRows: number) {
    this.#model = model;
    this.#storage = new KvStorage(kvShape(model.manifest, numSlots, capacity));
    this.#pools = (model.manifest.states ?? []).map(({ width }) => {
      const memory = new NativeMemory(numRows * width * Float32Array.BYTES_PER_ELEMENT);
      // Rows that nobody wrote must not be read.
      new Float32Array(memory.view()).fill(NaN);
      return { memory, tensor: Tensor.overNative('float', [numRows, width], memory) };
    });
  }

  /** Values of all pools. */
  get states(): Float32Array[] {
    return this.#pools.map(({ memory }) => new Float32Array(memory.view()).slice());
  }

  /**
   * Runs the slots from the first on, in one group.
   * @returns the logits of each segment's last token
   */
  run(segments: readonly StateSegment[], padding = 0): Float32Array[] {
    return this.#run(this.#model.graphPath, [{ prefix: '', firstSlot: 0, segments, padding }]);
  }

  /** Greedy tokens after a text, and the logits before the first of them and after the last. */
  continue(ids: readonly number[], numTokens: number) {
    const [first = new Float32Array()] = this.run([{ ids, start: 0, from: -1, to: 0 }]);
    let last: Float32Array = first.slice();
    const tokens: number[] = [];
    while (tokens.length < numTokens) {
      const start = ids.length + tokens.length;
      const token = argmax(last);
      tokens.push(token);
      const [from, to] = tokens.length % 2 === 1 ? [0, 1] : [1, 0];
      [last = last] = this.run([{ ids: [token], start, from, to }]);
    }
    return { tokens, first, last };
  }

  /** Runs the first slots, which decode, and the one after them, which prefills, at once. */
  runMixed(decode: readonly (StateSegment | null)[], prefill: StateSegment): Float32Array[] {
    const segments = decode.map((segment) => segment ?? NONE);
    return this.#run(this.#model.mixedGraphPath, [
      { prefix: '', firstSlot: 0, segments, padding: 0 },
      { prefix: 'prefill.', firstSlot: decode.length, segments: [prefill], padding: 0 },
    ]);
  }

  #run(
    path: string,
    groups: readonly {
      prefix: string;
      firstSlot: number;
      segments: readonly StateSegment[];
      padding: number;
    }[],
  ): Float32Array[] {
    const binding = new IoBinding(this.#open(path));
    const tensors: Tensor[] = [];
    const slots: SlotGroup[] = [];
    const keep = (tensor: Tensor) => (tensors.push(tensor), tensor);
    const wanted: bigint[] = [];
    let firstPlace = 0;
    for (const { prefix, firstSlot, segments, padding } of groups) {
      const group = new SlotGroup(binding, this.#storage, prefix);
      slots.push(group);
      const width = Math.max(...segments.map(({ ids }) => ids.length)) + padding;
      group.bindSlots(firstSlot, segments.length);
      group.begin(width);
      const places = group.inputIds(width);
      for (const [row, { ids, start }] of segments.entries()) {
        for (const [at, id] of ids.entries()) places[row * width + at] = BigInt(id);
        group.setLength(row, start + width);
        if (ids.length > 0) wanted.push(BigInt(firstPlace + row * width + ids.length - 1));
      }
      group.finish();
      const columns = [
        segments.map(({ from }) => from),
        segments.map(({ to }) => to),
        segments.map(({ ids }) => ids.length),
      ];
      for (const [index, name] of STATE_INPUTS.entries()) {
        const data = Int32Array.from(columns[index] ?? []);
        binding.bindInput(prefix + name, keep(Tensor.over('int32', [data.length], data)));
      }
      firstPlace += segments.length * width;
    }
    for (const [index, { name }] of (this.#model.manifest.states ?? []).entries()) {
      const pool = this.#pools[index]?.tensor;
      if (pool === undefined) continue;
      binding.bindInput(statePoolName('past_states', name), pool);
      binding.bindOutput(statePoolName('present_states', name), pool);
    }
    const { vocabSize } = this.#model.manifest;
    const session = this.#open(path);
    if (session.inputs.some(({ name }) => name === WANTS_LOGITS)) {
      binding.bindInput(WANTS_LOGITS, keep(Tensor.over('int32', [], Int32Array.of(1))));
    }
    const index = BigInt64Array.from(wanted);
    binding.bindInput('logits_index', keep(Tensor.over('int64', [index.length], index)));
    const logits = new Float32Array(index.length * vocabSize);
    binding.bindOutput('logits', keep(Tensor.over('float', [index.length, vocabSize], logits)));
    session.run(binding);
    for (const tensor of tensors) tensor.release();
    for (const group of slots) group.release();
    return wanted.map((_, row) => logits.slice(row * vocabSize, (row + 1) * vocabSize));
  }

  #open(path: string): Session {
    const opened = this.#sessions.get(path) ?? openGraph(path, this.#model, { intraOpThreads: 1 });
    this.#sessions.set(path, opened);
    return opened;
  }

  release(): void {
    for (const session of this.#sessions.values()) session.release();
    for (const { memory, tensor } of this.#pools) {
      tensor.release();
      memory.release();
    }
    this.#storage.release();
  }
}
