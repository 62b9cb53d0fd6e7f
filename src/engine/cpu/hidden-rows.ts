import { ALL_HIDDEN_OUTPUT } from '../../model/graph/decoder-parts.ts';
import { PREVIOUS_HIDDEN } from '../../model/graph/prediction-graph.ts';
import type { IoBinding } from '../../ort/io-binding.ts';
import type { Session } from '../../ort/session.ts';
import { Tensor } from '../../ort/tensor.ts';
import type { HiddenSink } from '../prediction.ts';
import type { SlotGroup } from './slot-group.ts';

/** Rows of hidden states, one for each of a run's tokens, bound as its input or its output. */
export class HiddenRows {
  readonly #width: number;
  readonly #bind: (tensor: Tensor) => void;
  #rows = new Float32Array();
  #tensor: Tensor | undefined;

  constructor(width: number, bind: (tensor: Tensor) => void) {
    this.#width = width;
    this.#bind = bind;
  }

  get width(): number {
    return this.#width;
  }

  /** The array [tokens, hidden]; another number of tokens than the last run's binds it anew. */
  ofTokens(numTokens: number): Float32Array {
    const length = numTokens * this.#width;
    if (this.#tensor !== undefined && this.#rows.length === length) return this.#rows;
    const before = this.#tensor;
    this.#rows = new Float32Array(length);
    this.#tensor = Tensor.over('float', [numTokens, this.#width], this.#rows);
    this.#bind(this.#tensor);
    before?.release();
    return this.#rows;
  }

  release(): void {
    this.#tensor?.release();
  }
}

/** The input of a module that predicts; null of other graphs. */
export function hiddenInput(session: Session, binding: IoBinding): HiddenRows | null {
  const width = widthOf(session.inputs, PREVIOUS_HIDDEN);
  if (width === null) return null;
  return new HiddenRows(width, (tensor) => binding.bindInput(PREVIOUS_HIDDEN, tensor));
}

/** The output of a model whose hidden states are read; null of other graphs. */
export function hiddenOutput(session: Session, binding: IoBinding): HiddenRows | null {
  const width = widthOf(session.outputs, ALL_HIDDEN_OUTPUT);
  if (width === null) return null;
  return new HiddenRows(width, (tensor) => binding.bindOutput(ALL_HIDDEN_OUTPUT, tensor));
}

/** Gives what a run left to the sink. @param groups whose tokens are the run's, one group after the other */
export function deliver(hidden: HiddenRows, groups: readonly SlotGroup[], sink: HiddenSink): void {
  const { width } = hidden;
  const rows = hidden.ofTokens(groups.reduce((sum, group) => sum + group.numTokens, 0));
  let before = 0;
  for (const { written, numTokens } of groups) {
    for (const { segment, place } of written) {
      const first = (before + place) * width;
      sink.take(segment, rows.subarray(first, first + segment.numTokens * width));
    }
    before += numTokens;
  }
}

function widthOf(values: Session['inputs'], wanted: string): number | null {
  const width = values.find(({ name }) => name === wanted)?.shape.at(-1);
  return typeof width === 'number' ? width : null;
}
