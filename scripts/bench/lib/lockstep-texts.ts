import { argmax } from '../../../src/engine/sampling/argmax.ts';
import { LockstepDecoder } from '../../../src/eval/lockstep-decoder.ts';
import type { BuiltModel } from '../../../src/model/manifest.ts';

/** Computes texts side by side, token by token. */
export function readTexts(
  model: BuiltModel,
  texts: readonly Int32Array[],
  threads: number,
  onLogits: (text: number, position: number, logits: Float32Array) => void,
): void {
  const capacity = Math.max(...texts.map(({ length }) => length));
  const decoder = new LockstepDecoder(model, {
    numSlots: texts.length,
    capacity,
    threads,
  });
  for (let position = 0; position < capacity; position++) {
    // A text that is over computes its last token again, unheard.
    const inputs = texts.map((ids) => {
      const at = Math.min(position, ids.length - 1);
      return { tokenId: ids[at] ?? 0, position: at };
    });
    decoder.step(inputs);
    for (const [index, { length }] of texts.entries()) {
      if (position < length) onLogits(index, position, decoder.logits(index));
    }
  }
  decoder.release();
}

/** Makes log-probabilities of logits, in place. */
export function normalize(logits: Float32Array): Float32Array {
  const most = logits[argmax(logits)] ?? NaN;
  let sum = 0;
  for (let id = 0; id < logits.length; id++) sum += Math.exp((logits[id] ?? 0) - most);
  const subtrahend = most + Math.log(sum);
  for (let id = 0; id < logits.length; id++) logits[id] = (logits[id] ?? 0) - subtrahend;
  return logits;
}

/** Kullback-Leibler divergence of log-probabilities, in nats. */
export function divergence(exact: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let id = 0; id < exact.length; id++) {
    const logarithm = exact[id] ?? 0;
    sum += Math.exp(logarithm) * (logarithm - (other[id] ?? 0));
  }
  return sum;
}
