import { EMBEDDING_PLACES, EMBEDDING_ROWS } from '../../model/graph/prompt-embeddings.ts';
import type { IoBinding } from '../../ort/io-binding.ts';
import type { Session } from '../../ort/session.ts';
import { Tensor } from '../../ort/tensor.ts';
import { embeddedParts } from '../prompt-embeddings.ts';
import type { SlotGroup } from './slot-group.ts';

/** Width of the embeddings that a graph takes in place of tokens; null if it takes none. */
export function embeddingWidthOf({ inputs }: Session): number | null {
  const width = inputs.find(({ name }) => name === EMBEDDING_ROWS)?.shape.at(-1);
  return typeof width === 'number' ? width : null;
}

/** Binds embeddings and their places as inputs of one binding's runs. */
export class EmbeddingInputs {
  readonly #binding: IoBinding;
  readonly #width: number;
  #rows = new Float32Array();
  #places = new BigInt64Array();
  #tensors: readonly Tensor[] = [];

  constructor(binding: IoBinding, width: number) {
    this.#binding = binding;
    this.#width = width;
    this.#resize(0);
  }

  /** @param groups whose tokens are the run's, one group after the other */
  fill(groups: readonly SlotGroup[]): void {
    const parts: { readonly place: number; readonly rows: Float32Array }[] = [];
    let before = 0;
    for (const { embedded, numTokens } of groups) {
      for (const { segment, place } of embedded) {
        const { sequence, start, numTokens: length } = segment;
        const found = embeddedParts(sequence.request, start, start + length, this.#width);
        for (const part of found) {
          parts.push({ place: before + place + part.start - start, rows: part.rows });
        }
      }
      before += numTokens;
    }
    this.#resize(parts.reduce((sum, { rows }) => sum + rows.length, 0) / this.#width);
    let row = 0;
    for (const { place, rows } of parts) {
      this.#rows.set(rows, row * this.#width);
      const end = row + rows.length / this.#width;
      for (let at = place; row < end; row++, at++) this.#places[row] = BigInt(at);
    }
  }

  #resize(numRows: number): void {
    if (this.#tensors.length > 0 && this.#tensors[0]?.shape[0] === numRows) return;
    const before = this.#tensors;
    // Memory of no bytes has no address.
    this.#rows = new Float32Array(Math.max(1, numRows * this.#width));
    this.#places = new BigInt64Array(Math.max(1, numRows));
    const rows = Tensor.over('float', [numRows, this.#width], this.#rows);
    const places = Tensor.over('int64', [numRows, 1], this.#places);
    this.#binding.bindInput(EMBEDDING_ROWS, rows);
    this.#binding.bindInput(EMBEDDING_PLACES, places);
    this.#tensors = [rows, places];
    for (const tensor of before) tensor.release();
  }

  release(): void {
    for (const tensor of this.#tensors) tensor.release();
  }
}
