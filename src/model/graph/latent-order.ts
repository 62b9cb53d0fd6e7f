import { ofLayer } from '../families/family.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { attends } from './layer-kinds.ts';

/** By new place of a row, the row of a checkpoint that comes there. */
type RowOrder = (place: number) => number;

/**
 * Adds the orders of tensors of attention from latents, where a head's dimensions that turn are its last: in
 * queries they come where attention turns them, and in what all heads' keys share one half after the other.
 * By tensor name without `.weight` and `.bias`.
 */
export function addLatentOrders(config: DecoderConfig, orders: Map<string, RowOrder>): void {
  const { family, latent, numLayers, headDim } = config;
  const names = family.latentAttention;
  if (names === undefined || latent === undefined) return;
  const { queryRank, keyValueRank, rotaryDim, stillDim } = latent;
  const half = rotaryDim / 2;
  const turning = Array.from({ length: rotaryDim }, (_, place) => {
    const [pair, second] = [place % half, place < half ? 0 : 1];
    return family.rotaryPairs === 'halves' ? place : 2 * pair + second;
  });
  const still = Array.from({ length: stillDim }, (_, place) => place);
  const ofTurning = turning.map((place) => stillDim + place);
  const head = [
    ...ofTurning.slice(0, half),
    ...still.slice(0, stillDim / 2),
    ...ofTurning.slice(half),
    ...still.slice(stillDim / 2),
  ];
  const inHeads: RowOrder = (place) => {
    const within = place % headDim;
    return place - within + (head[within] ?? 0);
  };
  const afterLatent: RowOrder = (place) =>
    place < keyValueRank ? place : keyValueRank + (turning[place - keyValueRank] ?? 0);
  for (let layer = 0; layer < numLayers; layer++) {
    if (!attends(config, layer)) continue;
    const queries = queryRank === null ? names.query : names.queryUp;
    orders.set(ofLayer(family, layer, queries), inHeads);
    orders.set(ofLayer(family, layer, names.keyValueDown), afterLatent);
  }
}
