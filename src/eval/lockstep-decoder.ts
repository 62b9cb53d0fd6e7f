import { openGraph } from '../engine/graph-session.ts';
import { kvShape } from '../engine/kv-shape.ts';
import { KvStorage } from '../engine/cpu/kv-storage.ts';
import { LogitsBuffer } from '../engine/cpu/logits-buffer.ts';
import { RunBinding } from '../engine/cpu/run-binding.ts';
import { statesOfSlots } from '../engine/cpu/state-pools.ts';
import type { BuiltModel } from '../model/manifest.ts';
import type { Session } from '../ort/session.ts';

/** Input of a slot in a step: one token, after `position` others. */
export interface RowInput {
  readonly tokenId: number;
  readonly position: number;
}

/** Computes one token for each of the first slots, and gives every slot's logits. */
export interface Lockstep {
  /** @throws {Error} if the run fails */
  step(inputs: readonly RowInput[]): void;
  /** [vocab], of the last step. */
  logits(slot: number): Float32Array;
}

export interface LockstepOptions {
  readonly numSlots: number;
  /** Positions per slot. */
  readonly capacity: number;
  readonly threads: number;
}

/** `Lockstep` over the decoder graph that serves, with nothing of the engine around it. */
export class LockstepDecoder implements Lockstep {
  readonly #session: Session;
  readonly #storage: KvStorage;
  readonly #logits: LogitsBuffer;
  readonly #states: ReturnType<typeof statesOfSlots>;
  /** By number of slots. */
  readonly #bindings = new Map<number, RunBinding>();

  constructor(model: BuiltModel, options: LockstepOptions) {
    const { graphPath, manifest } = model;
    const { numSlots, capacity, threads } = options;
    this.#session = openGraph(graphPath, model, { intraOpThreads: threads });
    this.#storage = new KvStorage(kvShape(manifest, numSlots, capacity));
    this.#logits = new LogitsBuffer(numSlots, manifest.vocabSize);
    this.#states = statesOfSlots(manifest, numSlots);
  }

  step(inputs: readonly RowInput[]): void {
    const binding = this.#binding(inputs.length);
    const group = binding.group();
    const inputIds = group.inputIds(1);
    const states = this.#states;
    for (const [slot, { tokenId, position }] of inputs.entries()) {
      inputIds[slot] = BigInt(tokenId);
      group.setLength(slot, position + 1);
      if (states) group.states?.set(slot, states.rows.rowsAt(slot, position, 1), 1);
    }
    this.#logits.reset();
    binding.run(inputs.map((_, slot) => slot));
  }

  logits(slot: number): Float32Array {
    return this.#logits.row(slot);
  }

  release(): void {
    for (const binding of this.#bindings.values()) binding.release();
    this.#bindings.clear();
    this.#session.release();
    this.#logits.release();
    this.#storage.release();
    this.#states?.pools.release();
  }

  #binding(numSlots: number): RunBinding {
    let binding = this.#bindings.get(numSlots);
    if (!binding) {
      const memory = { storage: this.#storage, logits: this.#logits, states: this.#states };
      binding = new RunBinding(this.#session, memory);
      binding.group().bindSlots(0, numSlots);
      this.#bindings.set(numSlots, binding);
    }
    return binding;
  }
}
