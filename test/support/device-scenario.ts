import type { SamplingParams } from '../../src/engine/request.ts';
import type { DecoderPair } from './decoder-pair.ts';

/**
 * Everything that a device does with a KV cache, on few tokens: chunked and whole prefill in several
 * slots, ragged decode with a dead slot, a prefix copied on, a slot moved down and its old one reused,
 * drafts that come true and drafts that do not. Needs 4 slots of 64 positions, and 3 draft tokens.
 */
export function runDeviceScenario(pair: DecoderPair): void {
  const prompt = (seed: number, length: number) =>
    Array.from({ length }, (_, index) => 3 + ((index * 7 + seed * 31) % 400));
  const first = pair.sequence(0, prompt(1, 21));
  const second = pair.sequence(1, prompt(2, 9));
  const third = pair.sequence(2, prompt(3, 35));
  pair.prefill(first, 10);
  // Chunks of several sequences take turns on the staging slot.
  pair.prefill(third, 18);
  pair.prefill(second);
  pair.prefill(first);
  pair.decode([first, second]);
  pair.prefill(third);
  for (let step = 0; step < 3; step++) pair.decode([first, second, third]);

  // A prompt that begins like the third text.
  const fourth = pair.sequence(3, [...third.tokenIds(0, 20), ...prompt(4, 7)]);
  pair.rearrange([{ type: 'copy', from: 2, to: 3, length: 20 }]);
  fourth.numComputedTokens = 20;
  pair.prefill(fourth);
  // The second one ends; its slot is a hole, until the last sequence moves into it.
  pair.decode([first, null, third, fourth]);
  pair.rearrange([{ type: 'copy', from: 3, to: 1, length: fourth.numComputedTokens }]);
  fourth.slot = 1;
  pair.decode([first, fourth, third]);
  // Long enough for another kernel.
  const fifth = pair.sequence(3, prompt(5, 40));
  pair.prefill(fifth);

  for (const sequence of [first, third]) {
    pair.verify(sequence, [5, 6, 7], 2);
    pair.verify(sequence, [8, 9], 0);
  }
  pair.decode([first, fourth, third, fifth]);
  // Behind a draft that was given up and a decode run, the staging slot is out of date.
  pair.verify(third, [11], 1);
}

/**
 * One set for each way in which a row's logits are read on a device: the best alone, the likeliest
 * ones, and all of them.
 */
export const EVERY_WAY: readonly Partial<SamplingParams>[] = [
  { temperature: 0 },
  { temperature: 0.8, topK: 40, topP: 0.9, seed: 1n },
  { temperature: 0.7, topP: 0.6, seed: 2n },
  { temperature: 1.5, seed: 3n },
];
