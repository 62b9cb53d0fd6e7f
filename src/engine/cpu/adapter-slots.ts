import { readFileSync } from 'node:fs';

import type { AdapterInput, LiveAdapterShape } from '../../model/graph/live-adapter-shape.ts';
import {
  parseSafetensorsHeader,
  safetensorsHeaderBytes,
} from '../../model/huggingface/safetensors-header.ts';
import { tensorByteLength, typedArrayOver } from '../../ort/element-type.ts';
import { Tensor } from '../../ort/tensor.ts';
import type { EngineAdapter } from '../request.ts';
import type { Segment } from '../step.ts';
import { reasonOf } from '../../files/system-error.ts';

export interface AdapterLimits {
  /** Different adapters in one step. */
  readonly maxActive: number;
  /** Adapters whose files are kept in memory. */
  readonly maxCached: number;
}

interface SlotContent {
  readonly id: string;
  lastUsed: number;
}

/**
 * Room for the adapters that a run multiplies with, side by side. What is in the slots stays there until
 * its place is needed: the one that was used longest ago goes.
 */
export class AdapterSlots {
  readonly #shape: LiveAdapterShape;
  readonly #limits: AdapterLimits;
  readonly #slots: (SlotContent | null)[];
  /** By name of an input, all slots. */
  readonly #memory = new Map<string, Uint8Array<ArrayBuffer>>();
  /** Files by adapter, the one used last at the end. */
  readonly #files = new Map<string, ReadonlyMap<string, Uint8Array>>();
  /** By number of slots. */
  readonly #tensors = new Map<number, ReadonlyMap<string, Tensor>>();
  #clock = 0;
  #numActive = 0;

  constructor(shape: LiveAdapterShape, limits: AdapterLimits) {
    this.#shape = shape;
    this.#limits = limits;
    this.#slots = Array.from({ length: limits.maxActive }, () => null);
    for (const input of shape.inputs) {
      this.#memory.set(input.name, new Uint8Array(limits.maxActive * slotBytes(input)));
    }
  }

  /** Number of slots, from the first on, that the next run multiplies with. */
  get numActive(): number {
    return this.#numActive;
  }

  /**
   * Puts adapters into slots for the runs of a step.
   * @param segments with at most `maxActive` different ones
   * @returns by adapter that can't be had, why
   */
  assign(segments: readonly Segment[]): Map<string, string> {
    const wanted = new Map<string, EngineAdapter>();
    for (const { sequence } of segments) {
      const { adapter } = sequence.request;
      if (adapter) wanted.set(adapter.id, adapter);
    }
    const failures = new Map<string, string>();
    this.#numActive = 0;
    for (const adapter of wanted.values()) {
      try {
        const slot = this.#slotFor(adapter, wanted);
        this.#numActive = Math.max(this.#numActive, slot + 1);
      } catch (error) {
        failures.set(adapter.id, reasonOf(error));
      }
    }
    return failures;
  }

  /** @throws RangeError when it has none */
  slotOf({ id }: EngineAdapter): number {
    const slot = this.#slots.findIndex((content) => content?.id === id);
    if (slot === -1) throw new RangeError('an adapter has no slot');
    return slot;
  }

  /** Inputs of the graph: the weights of the active adapter slots. */
  tensors(): ReadonlyMap<string, Tensor> {
    const known = this.#tensors.get(this.#numActive);
    if (known) return known;
    const tensors = new Map<string, Tensor>();
    for (const { name, type, rows, columns } of this.#shape.inputs) {
      const memory = typedArrayOver(type, this.#memory.get(name)?.buffer ?? new ArrayBuffer());
      tensors.set(name, Tensor.over(type, [this.#numActive * rows, columns], memory));
    }
    this.#tensors.set(this.#numActive, tensors);
    return tensors;
  }

  release(): void {
    for (const tensors of this.#tensors.values()) {
      for (const tensor of tensors.values()) tensor.release();
    }
  }

  #slotFor(adapter: EngineAdapter, wanted: ReadonlyMap<string, EngineAdapter>): number {
    const found = this.#slots.findIndex((content) => content?.id === adapter.id);
    const slot = found === -1 ? this.#freeSlot(wanted) : found;
    if (found === -1) this.#fill(slot, adapter);
    this.#slots[slot] = { id: adapter.id, lastUsed: ++this.#clock };
    return slot;
  }

  /** The first empty slot; if none is empty, the least recently used. */
  #freeSlot(wanted: ReadonlyMap<string, EngineAdapter>): number {
    const empty = this.#slots.indexOf(null);
    if (empty !== -1) return empty;
    let oldest = -1;
    for (const [slot, content] of this.#slots.entries()) {
      if (content === null || wanted.has(content.id)) continue;
      if (oldest === -1 || content.lastUsed < (this.#slots[oldest]?.lastUsed ?? 0)) oldest = slot;
    }
    if (oldest === -1) throw new RangeError(`a step has more than ${this.#slots.length} adapters`);
    return oldest;
  }

  #fill(slot: number, adapter: EngineAdapter): void {
    const file = this.#file(adapter);
    // Until it is whole: reading may fail.
    this.#slots[slot] = null;
    for (const input of this.#shape.inputs) {
      const bytes = slotBytes(input);
      const target = this.#memory.get(input.name)?.subarray(slot * bytes, (slot + 1) * bytes);
      const content = file.get(input.name);
      if (content) target?.set(content);
      else target?.fill(0);
    }
  }

  #file(adapter: EngineAdapter): ReadonlyMap<string, Uint8Array> {
    const { id, path } = adapter;
    const file = this.#files.get(id) ?? readTensors(path);
    this.#files.delete(id);
    this.#files.set(id, file);
    for (const other of this.#files.keys()) {
      if (this.#files.size <= this.#limits.maxCached) break;
      this.#files.delete(other);
    }
    return file;
  }
}

function slotBytes({ type, rows, columns }: AdapterInput): number {
  return tensorByteLength(type, [rows, columns]);
}

/** @throws Error when the file can't be read */
function readTensors(path: string): ReadonlyMap<string, Uint8Array> {
  const bytes = readFileSync(path);
  const length = safetensorsHeaderBytes(bytes, bytes.length, path);
  const entries = parseSafetensorsHeader(bytes.subarray(8, 8 + length), bytes.length, path);
  return new Map(
    [...entries].map(([name, { offset, byteLength }]) => [
      name,
      bytes.subarray(offset, offset + byteLength),
    ]),
  );
}
