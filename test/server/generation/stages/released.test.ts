import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { watchGeneration } from '../../../../src/server/generation/stages/stage.ts';
import { mapStream } from '../../../../src/front/generation/map-stream.ts';
import type { GenerationDelta } from '../../../../src/front/generation/generation.ts';

test('a generation that has ended is no longer heard of by its signal, which Node would keep', async () => {
  const signal = AbortSignal.any([new AbortController().signal, new AbortController().signal]);
  const ended: GenerationDelta[] = [];
  const nothing = Readable.from(ended).iterator() as AsyncIterableIterator<GenerationDelta, void>;
  let ends = 0;
  const deltas = watchGeneration(
    mapStream(nothing, (delta) => delta),
    { signal },
    { onEnd: () => void ends++ },
  );
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  for await (const _ of deltas);
  expect(ends).toBe(1);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
