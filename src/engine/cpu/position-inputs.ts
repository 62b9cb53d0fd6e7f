import { IMAGE_POSITIONS, NUM_AXES } from '../../model/graph/image-positions.ts';
import type { IoBinding } from '../../ort/io-binding.ts';
import type { Session } from '../../ort/session.ts';
import { Tensor } from '../../ort/tensor.ts';
import { fillImagePositions } from '../image-positions.ts';
import type { SlotGroup } from './slot-group.ts';

/** Whether a graph takes three positions of each token. */
export function takesPositions({ inputs }: Session): boolean {
  return inputs.some(({ name }) => name === IMAGE_POSITIONS);
}

/** Binds the positions of tokens as an input of one binding's runs. */
export class PositionInputs {
  readonly #binding: IoBinding;
  #axes: readonly BigInt64Array[] = [];
  #tensor: Tensor | undefined;

  constructor(binding: IoBinding) {
    this.#binding = binding;
  }

  /** @param groups whose tokens are the run's, one group after the other */
  fill(groups: readonly SlotGroup[]): void {
    this.#resize(groups.reduce((sum, { numTokens }) => sum + numTokens, 0));
    let before = 0;
    for (const group of groups) {
      const positions = BigInt64Array.from(group.positions(), BigInt);
      for (const axis of this.#axes) axis.set(positions, before);
      for (const { segment, place } of group.embedded) {
        const { sequence, start, numTokens } = segment;
        fillImagePositions(this.#axes, before + place, sequence.request, start, numTokens);
      }
      before += group.numTokens;
    }
  }

  #resize(numTokens: number): void {
    if (this.#tensor?.shape[1] === numTokens) return;
    const values = new BigInt64Array(NUM_AXES * numTokens);
    const tensor = Tensor.over('int64', [NUM_AXES, numTokens], values);
    this.#binding.bindInput(IMAGE_POSITIONS, tensor);
    this.#tensor?.release();
    this.#tensor = tensor;
    this.#axes = Array.from({ length: NUM_AXES }, (_, axis) =>
      values.subarray(axis * numTokens, (axis + 1) * numTokens),
    );
  }

  release(): void {
    this.#tensor?.release();
  }
}
