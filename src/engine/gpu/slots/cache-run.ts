import { kvNames } from '../../../model/graph/kv-names.ts';
import type { Session } from '../../../ort/session.ts';
import type { Tensor } from '../../../ort/tensor.ts';
import { type BusTraffic, DeviceRun } from '../device-run.ts';
import type { RunMode } from './graph-capture.ts';

/**
 * The decoder graph bound to some slots of a KV cache in device memory, which it appends to in place,
 * and to where their logits go.
 */
export class CacheRun {
  readonly #run: DeviceRun;
  readonly #mode: RunMode | null;
  readonly #tensors: readonly Tensor[];
  readonly #numSlots: number;
  readonly #numWanted: number;

  /**
   * @param cache [slots, kv_heads, capacity, head_dim] each, in the order of `kvNames`; released with
   *   the run, as is `logits` [wanted, vocab]: the same number for each slot
   * @param mode of a session that captures graphs; null for others
   */
  constructor(
    session: Session,
    cache: readonly Tensor[],
    logits: Tensor,
    traffic: BusTraffic,
    mode: RunMode | null = null,
  ) {
    this.#run = new DeviceRun(session, traffic);
    this.#mode = mode;
    this.#tensors = [...cache, logits];
    this.#numSlots = cache[0]?.shape[0] ?? 0;
    this.#numWanted = (logits.shape[0] ?? 0) / this.#numSlots;
    const pastNames = kvNames('past_key_values', cache.length / 2);
    const presentNames = kvNames('present', cache.length / 2);
    for (const [index, tensor] of cache.entries()) {
      this.#run.bindInput(pastNames[index] ?? '', tensor);
      this.#run.bindOutput(presentNames[index] ?? '', tensor);
    }
    this.#run.bindOutput('logits', logits);
    for (const [name, tensor] of mode?.inputs?.tensors ?? []) this.#run.bindInput(name, tensor);
  }

  /**
   * @param tokenIds [slots x tokens per slot] @param lastPositions [slots] of each slot's last token
   * @param firstWanted first of each slot's tokens whose logits are wanted
   * @throws DeviceError when the run fails, as when the device is lost
   */
  run(tokenIds: ArrayLike<number>, lastPositions: readonly number[], firstWanted: number): void {
    const slots = this.#numSlots;
    const ids = BigInt64Array.from(tokenIds, BigInt);
    const perSlot = ids.length / slots;
    const wanted = BigInt64Array.from({ length: slots * this.#numWanted }, (_, index) => {
      const slot = Math.floor(index / this.#numWanted);
      return BigInt(slot * perSlot + firstWanted + (index % this.#numWanted));
    });
    const total = Int32Array.of(Math.max(...lastPositions) + 1);
    const copy = this.#mode?.inputs?.copy;
    const target = copy ?? this.#run;
    target.upload('input_ids', 'int64', [slots, perSlot], ids);
    target.upload('seqlens_k', 'int32', [slots], Int32Array.from(lastPositions));
    target.upload('total_sequence_length', 'int32', [], total);
    target.upload('logits_index', 'int64', [wanted.length], wanted);
    copy?.run();
    this.#run.run(this.#mode?.options);
  }

  release(): void {
    this.#run.release();
    for (const tensor of this.#tensors) tensor.release();
  }
}
