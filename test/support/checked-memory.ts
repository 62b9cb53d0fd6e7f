import type { KvCache } from '../../src/engine/kv-cache/kv-cache.ts';
import type { CostModel } from '../../src/engine/costs/cost-model.ts';
import type { Sequence } from '../../src/engine/sequence.ts';
import type { StateCache } from '../../src/engine/states/state-cache.ts';
import type { Decoder } from '../../src/engine/step.ts';

/** A KV cache, and a fake model over it whose memory can be read back. */
export interface CheckedMemory {
  readonly kvCache: KvCache;
  readonly decoder: Decoder;
  readonly costs: CostModel;
  /** Null or left out where the model has none. */
  readonly states?: StateCache | null;
  /** Expects that the memory holds what bookkeeping says. */
  check(running: readonly Sequence[]): void;
}
