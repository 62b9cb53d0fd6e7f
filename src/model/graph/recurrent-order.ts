import { ofLayer } from '../families/family.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { recurrenceOf } from './layer-kinds.ts';

/** By new place of a row, the row of a checkpoint that comes there. */
type RowOrder = (place: number) => number;

/**
 * Adds the orders of tensors whose rows are by head of keys, with those of all kinds: as kinds one after the
 * other, head by head. By tensor name without `.weight` and `.bias`.
 */
export function addRecurrentOrders(config: DecoderConfig, orders: Map<string, RowOrder>): void {
  const { family, numLayers } = config;
  const rules = family.recurrence;
  if (rules?.kind !== 'gated delta' || rules.fusedOrder === 'by kind') return;
  for (let layer = 0; layer < numLayers; layer++) {
    const recurrence = recurrenceOf(config, layer);
    if (recurrence?.kind !== 'gated delta') continue;
    const { keyHeads, numHeads, keyDim, valueDim } = recurrence;
    const perKey = numHeads / keyHeads;
    const values = perKey * valueDim;
    const add = ([name = '', another]: readonly string[], sizes: readonly number[]) => {
      // Kinds with tensors of their own are in order.
      if (another === undefined) orders.set(ofLayer(family, layer, name), byKind(sizes, keyHeads));
    };
    add(rules.tensors.input, [keyDim, keyDim, values, values]);
    add(rules.tensors.gates, [perKey, perKey]);
  }
}

/** @param sizes of the kinds in one of `numGroups` groups */
function byKind(sizes: readonly number[], numGroups: number): RowOrder {
  const ofGroup = sizes.reduce((sum, size) => sum + size, 0);
  return (place) => {
    let [start, before] = [0, 0];
    for (const size of sizes) {
      const within = place - start;
      if (within < numGroups * size) {
        return Math.floor(within / size) * ofGroup + before + (within % size);
      }
      start += numGroups * size;
      before += size;
    }
    return place;
  };
}
