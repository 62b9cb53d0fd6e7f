import { IMAGE_ENDS } from '../../model/graph/image-ends.ts';
import type { IoBinding } from '../../ort/io-binding.ts';
import type { Session } from '../../ort/session.ts';
import { Tensor } from '../../ort/tensor.ts';
import type { SlotGroup } from './slot-group.ts';

/** Whether a graph takes where each token's attention ends. */
export function takesEnds({ inputs }: Session): boolean {
  return inputs.some(({ name }) => name === IMAGE_ENDS);
}

/** Binds where attention of each token ends as an input of one binding's runs. */
export class EndInputs {
  readonly #binding: IoBinding;
  #ends = new Int32Array();
  #tensor: Tensor | undefined;

  constructor(binding: IoBinding) {
    this.#binding = binding;
  }

  /** @param groups whose tokens are the run's, one group after the other */
  fill(groups: readonly SlotGroup[]): void {
    this.#resize(groups.reduce((sum, { numTokens }) => sum + numTokens, 0));
    this.#ends.fill(0);
    let before = 0;
    for (const { embedded, numTokens } of groups) {
      for (const { segment, place } of embedded) {
        const { sequence, start, numTokens: length } = segment;
        const first = before + place - start;
        for (const { start: image, attentionEnd = image } of sequence.request.embeddings ?? []) {
          const [from, to] = [Math.max(start, image), Math.min(start + length, attentionEnd)];
          if (from < to) this.#ends.fill(attentionEnd, first + from, first + to);
        }
      }
      before += numTokens;
    }
  }

  #resize(numTokens: number): void {
    if (this.#tensor !== undefined && this.#ends.length === numTokens) return;
    const before = this.#tensor;
    this.#ends = new Int32Array(numTokens);
    this.#tensor = Tensor.over('int32', [numTokens], this.#ends);
    this.#binding.bindInput(IMAGE_ENDS, this.#tensor);
    before?.release();
  }

  release(): void {
    this.#tensor?.release();
  }
}
