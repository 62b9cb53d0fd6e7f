import { describe, expect, it } from 'vitest';
import { SlotLayout, type SlotLayoutOptions } from '../../../src/engine/cpu/slot-layout.ts';
import { SlotCache } from '../../../src/engine/kv-cache/slot-cache.ts';
import type { SlotTable } from '../../../src/engine/kv-cache/slot-table.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { withDraft } from '../../../src/engine/drafter.ts';
import { type Segment, segmentOf } from '../../../src/engine/step.ts';
import { engineRequest } from '../../support/engine-requests.ts';

function sequenceIn(slot: number, numPromptTokens: number, numComputed = 0): Sequence {
  const promptTokenIds = new Int32Array(numPromptTokens).fill(slot + 1);
  const sequence = new Sequence(engineRequest({ id: slot, promptTokenIds }));
  sequence.slot = slot;
  sequence.numComputedTokens = numComputed;
  return sequence;
}

/** A sequence's last token. */
const decodeIn = (slot: number, position: number): Segment =>
  segmentOf(sequenceIn(slot, position + 1, position), 1);

/** A whole prompt of which nothing is computed. */
const promptIn = (slot: number, numTokens: number): Segment =>
  segmentOf(sequenceIn(slot, numTokens), numTokens);

/** Holder of each slot, by slots. */
const tableOf = (...owners: (Sequence | null)[]): SlotTable => ({
  ownerOf: (slot) => owners[slot] ?? null,
  grow: () => true,
  drainOperations: () => [],
});

const CHEAP_TOKENS: SlotLayoutOptions['costs'] = { prefillMs: () => 1 };
const DEAR_PADDING: SlotLayoutOptions['costs'] = {
  prefillMs: (spans) => spans.reduce((sum, { length }) => sum + length ** 2, 0),
};

/** The slots of each run. */
const slotsOf = (runs: readonly (readonly Segment[])[]) =>
  runs.map((run) => run.map(({ sequence }) => sequence.slot));

describe('a decode run', () => {
  it('takes a token of each slot from slot 0 on', () => {
    const layout = new SlotLayout({ slots: tableOf() });
    const { decode } = layout.runsOf([decodeIn(1, 7), decodeIn(0, 5)]);
    expect(decode.map(({ segment, start }) => [segment?.sequence.slot, start])).toEqual([
      [0, 5],
      [1, 7],
    ]);
  });

  it('writes dead tokens to where nothing is kept: after what their owner has, or at the start', () => {
    const prefilling = sequenceIn(0, 40, 24);
    const layout = new SlotLayout({ slots: tableOf(prefilling, null) });
    const { decode } = layout.runsOf([decodeIn(2, 9)]);
    expect(decode.map(({ segment, start }) => [segment === null, start])).toEqual([
      [true, 24],
      [true, 0],
      [false, 9],
    ]);
  });

  it('has no dead tokens where nobody knows what the slots between hold', () => {
    const layout = new SlotLayout({});
    const { decode, prefill } = layout.runsOf([decodeIn(0, 5), decodeIn(2, 9)]);
    expect(decode).toEqual([]);
    expect(slotsOf(prefill)).toEqual([[0], [2]]);
  });

  it("has no prompt's last token where texts must be reproducible", () => {
    const output = new Sequence(engineRequest({ outputTokenIds: Int32Array.of(9) }));
    Object.assign(output, { slot: 0, numComputedTokens: 3 });
    const segments = [segmentOf(output, 1), decodeIn(1, 7)];
    const runsOf = (reproducible: boolean) =>
      new SlotLayout({ slots: tableOf(), reproducible }).runsOf(segments);
    expect(runsOf(false)).toMatchObject({ decode: [{}, {}], prefill: [] });
    expect(runsOf(true).decode).toHaveLength(1);
    expect(slotsOf(runsOf(true).prefill)).toEqual([[1]]);
  });
});

describe('prefill runs', () => {
  it('join whole prompts of neighbouring slots where that is cheaper', () => {
    const segments = [promptIn(4, 3), promptIn(1, 6), promptIn(2, 5), promptIn(3, 30)];
    const runsOf = (costs: SlotLayoutOptions['costs'] = null) =>
      slotsOf(new SlotLayout({ slots: tableOf(), costs }).runsOf(segments).prefill);
    expect(runsOf()).toEqual([[1], [2], [3], [4]]);
    expect(runsOf(CHEAP_TOKENS)).toEqual([[1, 2, 3, 4]]);
    expect(runsOf(DEAR_PADDING)).toEqual([[1], [2], [3], [4]]);
  });

  it('join no chunk, and nothing across a gap', () => {
    const chunk = segmentOf(sequenceIn(1, 20, 4), 6);
    const segments = [promptIn(0, 6), chunk, promptIn(2, 5), promptIn(4, 5)];
    const layout = new SlotLayout({ slots: tableOf(), costs: CHEAP_TOKENS });
    expect(slotsOf(layout.runsOf(segments).prefill)).toEqual([[0], [1], [2], [4]]);
  });

  it('have memory for the padding, for which texts kept for reuse make way', () => {
    // A prompt of two pages and one of one, and a text that fills the rest of five.
    const cache = new SlotCache({ numSlots: 4, capacity: 64, maxPages: 5 });
    const old = sequenceIn(-1, 32);
    cache.reserve(old, 0);
    old.numComputedTokens = 32;
    cache.release(old, true);
    const [long, short] = [sequenceIn(-1, 30), sequenceIn(-1, 10)];
    for (const sequence of [long, short]) cache.reserve(sequence, 0);
    cache.drainOperations();
    const layout = new SlotLayout({ slots: cache, costs: CHEAP_TOKENS });
    const { prefill, cacheOperations } = layout.runsOf([segmentOf(long, 30), segmentOf(short, 10)]);
    expect(slotsOf(prefill)).toEqual([[0, 1]]);
    expect(cacheOperations).toMatchObject([{ type: 'discard' }]);
    expect(cache.numResidentPages).toBeLessThanOrEqual(5);
  });
});

it('a token with its draft is a run of its own', () => {
  const layout = new SlotLayout({ slots: tableOf() });
  const segments = [decodeIn(0, 5), withDraft(decodeIn(1, 7), Int32Array.of(3, 4))];
  const { decode, prefill, verify } = layout.runsOf(segments);
  expect([decode.length, prefill.length, slotsOf([verify])]).toEqual([1, 0, [[1]]]);
});
