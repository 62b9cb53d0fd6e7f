/** Answers of models without state that were computed before. */
import { createHash } from 'node:crypto';
import type { GraphSignature } from '../../encoder/tensors/signature.ts';
import { byteLengthOfAll, type TensorValue } from '../../encoder/tensors/tensor.ts';
import { LIMITS } from '../../limits.ts';
import { ANY_ANSWER, type Caller } from '../caller.ts';
import { NotCachedError } from '../not-cached-error.ts';
import type { InferOptions, TensorModel } from '../tensors/tensor-model.ts';
import { type CacheCounts, CacheCounter } from './cache-counter.ts';
import { decodeTensors, encodeTensors } from './tensor-codec.ts';
import type { TwoLevelCache } from './two-level-cache.ts';

const NO_MEMORY = { entries: 0, bytes: 0, evictions: 0, errors: 0 };

type ServedTensors = Pick<TensorModel, 'signature' | 'maxBatchSize' | 'stats' | 'infer'>;

export class TensorCache {
  readonly #store: TwoLevelCache;
  readonly #counter: CacheCounter;

  /** @param store which other answers may share: its memory is counted with those */
  constructor(store: TwoLevelCache) {
    this.#store = store;
    this.#counter = new CacheCounter({ stats: NO_MEMORY });
  }

  get counts(): CacheCounts {
    return this.#counter.counts;
  }

  /**
   * A model whose answers are kept.
   * @param model one that gives equal inputs equal outputs
   * @param buildId equal for models that give the same
   */
  over(model: ServedTensors, buildId: string): ServedTensors {
    return new CachedTensors(model, this.#store, this.#counter, buildId);
  }
}

class CachedTensors implements ServedTensors {
  readonly #model: ServedTensors;
  readonly #store: TwoLevelCache;
  readonly #counter: CacheCounter;
  readonly #buildId: string;

  constructor(model: ServedTensors, store: TwoLevelCache, counter: CacheCounter, buildId: string) {
    this.#model = model;
    this.#store = store;
    this.#counter = counter;
    this.#buildId = buildId;
  }

  get signature(): GraphSignature {
    return this.#model.signature;
  }

  get maxBatchSize(): number {
    return this.#model.maxBatchSize;
  }

  get stats() {
    return this.#model.stats;
  }

  /** As TensorModel.infer. @throws also NotCachedError */
  async infer(
    tensors: readonly TensorValue[],
    options: InferOptions,
    caller: Caller,
  ): Promise<readonly TensorValue[]> {
    const { cache: wish = ANY_ANSWER } = caller;
    const numBytes = byteLengthOfAll(tensors);
    // Hashing more would hold up others.
    if (!wish.mayKeep || numBytes > LIMITS.cachedInputBytes) {
      this.#counter.bypassed();
      wish.tell?.({ status: 'bypass' });
      return await this.#model.infer(tensors, options, caller);
    }
    const key = this.#keyOf(tensors, options, caller);
    const stored = wish.mayFind ? await this.#store.get(key, wish.maxAgeMs) : null;
    if (stored !== null) {
      this.#counter.hit(stored.level);
      wish.tell?.({ status: 'hit', ageMs: stored.ageMs });
      return decodeTensors(stored.bytes);
    }
    if (wish.onlyFound) throw new NotCachedError();
    const made = await this.#model.infer(tensors, options, caller);
    this.#counter.missed();
    wish.tell?.({ status: 'miss' });
    if (byteLengthOfAll(made) <= this.#store.maxEntryBytes)
      this.#store.set(key, encodeTensors(made));
    return made;
  }

  /** Hash of all that decides the outputs: the model, its inputs and which outputs are wanted. */
  #keyOf(
    tensors: readonly TensorValue[],
    { outputs = null }: InferOptions,
    { client }: Caller,
  ): string {
    const hash = createHash('sha256');
    const add = (head: string): void => {
      hash.update(`${head.length} ${head}`);
    };
    add(JSON.stringify(['tensors', this.#buildId, client, outputs]));
    for (const tensor of tensors.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const { name, datatype, shape } = tensor;
      if (tensor.datatype === 'BYTES') {
        add(JSON.stringify([name, datatype, shape, tensor.data.map(({ length }) => length)]));
        for (const item of tensor.data) hash.update(item);
      } else {
        add(JSON.stringify([name, datatype, shape]));
        hash.update(tensor.data);
      }
    }
    return hash.digest('base64url');
  }
}
