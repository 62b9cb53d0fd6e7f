import { expect, it } from 'vitest';
import { withDraft } from '../../../src/engine/drafter.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { StateCache } from '../../../src/engine/states/state-cache.ts';
import { StatefulDecoder } from '../../../src/engine/states/stateful-decoder.ts';
import { type Segment, segmentOf } from '../../../src/engine/step.ts';
import { engineRequest } from '../../support/engine-requests.ts';

/** A sequence with a state after `position` of its tokens, and a decoder that says what it runs. */
function open(numTokens: number, position: number) {
  const promptTokenIds = Int32Array.from({ length: numTokens }, (_, at) => at);
  const sequence = new Sequence(engineRequest({ promptTokenIds }));
  const states = new StateCache({ numRows: 2, spacing: 8, minLength: 4, prefixCaching: false });
  states.begin(sequence);
  const advance = ({ start, numTokens: length }: Segment) => {
    sequence.numComputedTokens = start + length;
    states.advance(sequence);
  };
  const first = segmentOf(sequence, position);
  states.rowsOf(first);
  advance(first);
  const runs: number[][] = [];
  const decoder = new StatefulDecoder(
    {
      execute: ({ segments }) => {
        for (const segment of segments) {
          states.rowsOf(segment);
          const { start, numTokens: length, numLogits, draftTokenIds } = segment;
          runs.push([start, length, numLogits, draftTokenIds.length]);
        }
        return { logits: [], failures: [], timedRuns: [] };
      },
      release: () => {},
    },
    states,
  );
  return { sequence, decoder, runs };
}

it('begins where the state is, and stops at the place of a snapshot', () => {
  const { sequence, decoder, runs } = open(20, 5);
  sequence.numComputedTokens = 19;
  decoder.execute({ cacheOperations: [], segments: [segmentOf(sequence, 1)] });
  expect(runs).toEqual([
    [5, 3, 0, 0],
    [8, 8, 0, 0],
    [16, 4, 1, 0],
  ]);
});

it('stops within no draft, which is verified in one run', () => {
  const { sequence, decoder, runs } = open(7, 6);
  const segment = withDraft(segmentOf(sequence, 1), Int32Array.of(1, 2, 3));
  decoder.execute({ cacheOperations: [], segments: [segment] });
  expect(runs).toEqual([[6, 4, 4, 3]]);
});

it('stops before a token with a draft after those that the state is behind', () => {
  const { sequence, decoder, runs } = open(9, 6);
  sequence.numComputedTokens = 8;
  const segment = withDraft(segmentOf(sequence, 1), Int32Array.of(1, 2, 3));
  decoder.execute({ cacheOperations: [], segments: [segment] });
  expect(runs).toEqual([
    [6, 2, 0, 0],
    [8, 4, 4, 3],
  ]);
});
