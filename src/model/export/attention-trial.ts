/** The sizes of an attention. */
export interface AttentionShape {
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
}

/** Facts about a layer that GroupQueryAttention has to be told. */
export interface AttentionForm {
  /** Factor of scores. */
  readonly scale: number;
  /** Tokens that are attended to, the newest ones; null for all. */
  readonly window: number | null;
}

/** Random values for an attention with `past` tokens in its cache and `added` new ones. */
export interface AttentionTrial {
  readonly past: number;
  readonly added: number;
  /** [added, heads * head_dim] each. */
  readonly query: Float32Array;
  readonly key: Float32Array;
  readonly value: Float32Array;
  /** [kv_heads, past, head_dim] each. */
  readonly pastKey: Float32Array;
  readonly pastValue: Float32Array;
}

/** The first query of the first head is the last key of that head: their product is not near 0. */
export function attentionTrial(
  { numHeads, numKvHeads, headDim }: AttentionShape,
  past: number,
  added: number,
): AttentionTrial {
  const random = randomNumbers();
  const values = (count: number) => Float32Array.from({ length: count }, random);
  const pastKey = values(numKvHeads * past * headDim);
  const key = values(added * numKvHeads * headDim);
  const query = values(added * numHeads * headDim);
  query.set(key.subarray((added - 1) * numKvHeads * headDim).subarray(0, headDim));
  return {
    past,
    added,
    query,
    key,
    value: values(added * numKvHeads * headDim),
    pastKey,
    pastValue: values(numKvHeads * past * headDim),
  };
}

/** The product of the first query and the last key of its head. */
export function lastProduct({ query }: AttentionTrial, { headDim }: AttentionShape): number {
  return query.subarray(0, headDim).reduce((sum, value) => sum + value * value, 0);
}

/** [tokens, heads * dims] to [heads, tokens, dims], or with both numbers swapped the other way. */
export function headsFirst(
  values: Float32Array,
  tokens: number,
  heads: number,
): Float32Array<ArrayBuffer> {
  const dims = values.length / (tokens * heads);
  const ordered = new Float32Array(values.length);
  for (let token = 0; token < tokens; token++) {
    for (let head = 0; head < heads; head++) {
      const start = (token * heads + head) * dims;
      ordered.set(values.subarray(start, start + dims), (head * tokens + token) * dims);
    }
  }
  return ordered;
}

/** From -1 to 1, the same ones every time. */
function randomNumbers(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}
