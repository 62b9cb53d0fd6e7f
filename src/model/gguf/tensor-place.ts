/** Name of a checkpoint's tensor in a GGUF file, and how it is stored there. */
export interface TensorPlace {
  /** Without `.weight` and `.bias`, as are the keys of tensorPlaces. */
  readonly name: string;
  /** End of a name that ends otherwise in safetensors; `.weight` if left out. */
  readonly suffix?: string;
  readonly kind: 'matrix' | 'heads' | 'fused heads' | 'norm' | 'decay' | 'latent';
  /** Matrices in it, where that is not the number of experts. */
  readonly count?: number;
  /** Parts of it that are of heads of values, in a file where these may be in another order. */
  readonly values?: ValueHeads;
}

/** Rows from one on, so many for each head; or columns, which are of heads from the first to the last. */
export type ValueHeads = { readonly first: number; readonly size: number } | 'columns';

export type AddPlace = (
  name: string | null | undefined,
  to: string,
  kind: TensorPlace['kind'],
  more?: Pick<TensorPlace, 'suffix' | 'count' | 'values'>,
) => void;
