import { setImmediate } from 'node:timers/promises';
import type { LayerKvScales } from '../../model/graph/kv-scales.ts';
import type { BuiltModel } from '../../model/manifest.ts';
import { openGraph } from '../graph-session.ts';
import type { KvHeads } from '../../model/huggingface/layer-parts.ts';
import { type KvShape, kvShape } from '../kv-shape.ts';
import { KvStorage } from './kv-storage.ts';
import { LogitsBuffer } from './logits-buffer.ts';
import { uniform } from '../sampling/philox.ts';
import { RunBinding } from './run-binding.ts';
import { statesOfSlots } from './state-pools.ts';

/** Texts to calibrate with. */
const NUM_SLOTS = 16;
/** Tokens of each. */
const LENGTH = 96;
const INT8_MAX = 127;
/**
 * Room above the largest magnitude seen, which other texts may need: what does not fit is cut off.
 * On summit, a quarter too much costs 0.005 % of perplexity, a fifth too little 0.09 %.
 */
const HEADROOM = 1.25;

/** Rotary embedding rotates a channel with the one that is half a head away. */
const pairLength = (value: number, other: number) => Math.hypot(value, other);

/**
 * Finds the scales of an int8 KV cache: the largest magnitudes that texts leave in the float32
 * cache. The model samples the texts itself, each from a random first token. They are like what it
 * will generate later, in every language that it knows, and need neither a tokenizer nor a data
 * set.
 *
 * Keys are cached after rotary embedding, which rotates pairs of channels by an angle that grows
 * with the position. Slow pairs take thousands of positions for one turn. The most that both can
 * reach is the pair's length.
 * @param model with a float32 cache
 * @throws OrtError when the model can't be loaded or run
 */
export async function calibrateKv(model: BuiltModel): Promise<readonly LayerKvScales[]> {
  const { manifest, graphPath } = model;
  const { vocabSize, maxPositionEmbeddings } = manifest;
  const length = Math.min(LENGTH, maxPositionEmbeddings);
  const session = openGraph(graphPath, model);
  const storage = new KvStorage(kvShape(manifest, NUM_SLOTS, length));
  const logits = new LogitsBuffer(NUM_SLOTS, vocabSize);
  const states = statesOfSlots(manifest, NUM_SLOTS);
  const binding = new RunBinding(session, { storage, logits, states });
  const group = binding.group();
  group.bindSlots(0, NUM_SLOTS);
  const inputIds = group.inputIds(1);
  const slots = Array.from({ length: NUM_SLOTS }, (_, slot) => slot);
  for (const slot of slots) {
    inputIds[slot] = BigInt(Math.floor(uniform(BigInt(slot), 0) * vocabSize));
  }
  try {
    for (let position = 0; position < length; position++) {
      for (const slot of slots) {
        group.setLength(slot, position + 1);
        if (states) group.states?.set(slot, states.rows.rowsAt(slot, position, 1), 1);
      }
      logits.reset();
      binding.run(slots);
      for (const slot of slots) {
        inputIds[slot] = BigInt(draw(logits.row(slot), uniform(BigInt(slot), position + 1)));
      }
      // The process keeps answering meanwhile, if only to say that it is not ready.
      await setImmediate();
    }
    return scalesOf(storage, length);
  } finally {
    binding.release();
    states?.pools.release();
    logits.release();
    storage.release();
    session.release();
  }
}

/** A token drawn at temperature 1. @param random in [0, 1) */
export function draw(logits: Float32Array, random: number): number {
  const max = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const weights = logits.map((logit) => Math.exp(logit - max));
  let left = random * weights.reduce((sum, weight) => sum + weight, 0);
  const token = weights.findIndex((weight) => (left -= weight) < 0);
  return token < 0 ? logits.indexOf(max) : token;
}

function scalesOf(storage: KvStorage, length: number): LayerKvScales[] {
  const tensors = storage.view(0, NUM_SLOTS);
  const scales = tensors.map(({ data }, index) => {
    if (!(data instanceof Float32Array)) throw new TypeError('calibration needs a float32 cache');
    const magnitude = index % 2 === 0 ? pairLength : Math.abs;
    const heads = storage.shape.heads[index >> 1] ?? { numKvHeads: 0, headDim: 0 };
    return channelScales(data, { ...heads, capacity: storage.shape.capacity }, length, magnitude);
  });
  for (const tensor of tensors) tensor.release();
  return Array.from({ length: storage.shape.heads.length }, (_, layer) => ({
    key: scales[2 * layer] ?? new Float32Array(),
    value: scales[2 * layer + 1] ?? new Float32Array(),
  }));
}

/**
 * @param data [slots, kv_heads, capacity, head_dim]
 * @param magnitude of a channel's value, combined with that of the channel it rotates with
 * @returns [kv_heads, head_dim]
 */
function channelScales(
  data: Float32Array,
  { numKvHeads, capacity, headDim }: KvHeads & Pick<KvShape, 'capacity'>,
  length: number,
  magnitude: (value: number, other: number) => number,
): Float32Array {
  const half = headDim / 2;
  const largest = new Float32Array(numKvHeads * headDim);
  for (let vector = 0; vector < data.length / headDim; vector++) {
    if (vector % capacity >= length) continue;
    const from = vector * headDim;
    const to = (Math.floor(vector / capacity) % numKvHeads) * headDim;
    for (let channel = 0; channel < headDim; channel++) {
      const other = data[from + ((channel + half) % headDim)] ?? 0;
      const size = magnitude(data[from + channel] ?? 0, other);
      largest[to + channel] = Math.max(largest[to + channel] ?? 0, size);
    }
  }
  // A channel that was never anything but 0 needs some scale too: the kernel divides by it.
  return largest.map((size) => ((size || 1) * HEADROOM) / INT8_MAX);
}
