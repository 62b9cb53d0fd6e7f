/**
 * An agent's next turn beside streams: its new tokens behind what is cached, computed in chunks while streams
 * decode. The real planner, budget and cost model, with a machine's step costs in place of a model.
 */
import { CostModel } from '../../src/engine/costs/cost-model.ts';
import {
  DEFAULT_PREFILL_POLICY,
  PrefillBudget,
} from '../../src/engine/scheduling/prefill-budget.ts';
import { planPrefill } from '../../src/engine/scheduling/prefill-planner.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { Random } from '../../src/bench/random.ts';
import { engineRequest } from '../../test/support/engine-requests.ts';
import { median, printTable } from '../bench/lib/table.ts';
import { type Machine, mixedRun } from './machine.ts';

/** New tokens, those that are cached before them, and streams. */
const CASES = [
  [200, 2000, 1],
  [49, 8000, 1],
  [200, 8000, 1],
  [200, 8000, 8],
  [300, 16_000, 1],
  [300, 16_000, 4],
] as const;

/** Where each stream is. */
const STREAM_POSITION = 100;
/** Steps without a prompt before, in which the budget fills. */
const QUIET_STEPS = 60;
const LEARNED_RUNS = 600;

export function nextTurn({ costs: machine, maxNumBatchedTokens }: Machine, seed: number): void {
  const rows = CASES.map(([numNew, numCached, numStreams]) => {
    const costs = learned(machine, new Random(seed));
    const budget = new PrefillBudget(DEFAULT_PREFILL_POLICY);
    const decode = Array.from({ length: numStreams }, () => ({
      start: STREAM_POSITION,
      length: 1,
    }));
    const decodeMs = costs.decodeMs(decode);
    for (let step = 0; step < QUIET_STEPS; step++) budget.settle(decodeMs, 0, 0);
    const sequence = turnOf(numCached, numNew);
    const steps: number[] = [];
    while (sequence.numUncomputedTokens > 1) {
      const chunks = planPrefill({
        sequences: [sequence],
        numPrompts: 1,
        decode,
        mayHoldUp: false,
        targetMs: Infinity,
        maxTokens: maxNumBatchedTokens,
        budget,
        costs,
      });
      const spans = chunks.map(({ start, numTokens }) => ({ start, length: numTokens }));
      const run = mixedRun(machine, decode, spans);
      costs.observe(run);
      steps.push(run.ms);
      for (const { length } of spans) sequence.numComputedTokens += length;
    }
    const total = steps.reduce((sum, ms) => sum + ms, 0);
    const alone = mixedRun(machine, decode, []).ms;
    const times = [alone, total / steps.length, median(steps), Math.max(...steps), total];
    return [numNew, numCached, numStreams, ...times.map((ms) => ms.toFixed(ms < 100 ? 1 : 0))].map(
      String,
    );
  });
  printTable(
    ['new', 'cached', 'streams', 'ITL alone', 'mean', 'p50', 'longest', 'first token'],
    rows,
  );
}

function turnOf(numCached: number, numNew: number): Sequence {
  const promptTokenIds = new Int32Array(numCached + numNew);
  const sequence = new Sequence(engineRequest({ promptTokenIds }));
  sequence.numComputedTokens = numCached;
  return sequence;
}

/** Cost model as it is after a while of mixed work. */
function learned(machine: Machine['costs'], random: Random): CostModel {
  const costs = new CostModel();
  const upTo = (most: number): number => random.integer(0, most - 1);
  for (let run = 0; run < LEARNED_RUNS; run++) {
    const decode = Array.from({ length: 1 + upTo(9) }, () => ({ start: upTo(8000), length: 1 }));
    const chunk = { start: upTo(8000), length: 2 + upTo(60) };
    costs.observe(mixedRun(machine, decode, run % 3 === 0 ? [] : [chunk]));
  }
  return costs;
}
