import { describe, expect, it } from 'vitest';
import { Random } from '../../src/bench/random.ts';
import { EXPERIMENTS } from '../../scripts/simulate/experiments.ts';
import { capacityPerSecond } from '../../scripts/simulate/machine.ts';
import { MACHINES } from '../../scripts/simulate/machines.ts';
import { DEFAULT_POLICY, type Policy } from '../../scripts/simulate/policy.ts';
import { simulate } from '../../scripts/simulate/simulation.ts';
import { arrivals, impatient, shareGptRequest } from '../../scripts/simulate/traffic.ts';

const MACHINE = { ...MACHINES['smollm2-135m-cpu'], maxNumSeqs: 8, kvCacheTokens: 16_384 };

function run(policy: Partial<Policy>, { count = 150, perSecond = 0.5, givesUp = 0 } = {}) {
  const random = new Random(3);
  const make = () => impatient(shareGptRequest(MACHINE.maxModelLen, random), givesUp, 5000, random);
  return simulate({
    machine: MACHINE,
    policy: { ...DEFAULT_POLICY, ...policy },
    traffic: [arrivals({ count, perSecond }, random, make)],
    seed: 1,
  });
}

describe('a simulation', () => {
  // `simulate` itself throws on a token that is lost, doubled or changed, and on what is left over.
  it.each([
    ['by default', {}],
    ['static', { batching: 'static' }],
    ['without prefix caching', { prefixCaching: false }],
    ['with a target', { targetItlMs: 50 }],
    ['without a queue of its own', { queue: 'fifo' }],
  ] as const)('finishes every request: %s', (_name, policy) => {
    const { metrics, counters } = run(policy);
    expect(metrics).toMatchObject({ numArrived: 150, numFinished: 150, numCancelled: 0 });
    expect(counters.numSampled).toBe(metrics.numTokens);
  });

  it('finishes every request when memory is short, by preemption', () => {
    const { metrics, counters } = run({ kvCacheShare: 0.15 });
    expect(metrics.numFinished).toBe(150);
    expect(counters.numPreemptions).toBeGreaterThan(0);
    expect(counters.maxResidentPages).toBeLessThanOrEqual(counters.maxPages);
  });

  it('stays consistent when clients give up, waiting or served', () => {
    const { metrics } = run({}, { perSecond: 2, givesUp: 0.5 });
    expect(metrics.numCancelled).toBeGreaterThan(20);
    expect(metrics.numFinished + metrics.numCancelled).toBe(150);
  });

  it('is repeatable', () => {
    const [one, two] = [run({}), run({})];
    expect(one.elapsedMs).toBe(two.elapsedMs);
    expect(one.counters).toEqual(two.counters);
  });

  it('serves what the capacity says, when it is asked for more', () => {
    const { metrics, elapsedMs } = run({}, { count: 400, perSecond: 10 });
    const ratio = (metrics.numFinished * 1000) / elapsedMs / capacityPerSecond(MACHINE, 161, 338);
    expect(ratio).toBeGreaterThan(0.7);
    expect(ratio).toBeLessThan(1.2);
  });
});

describe('the experiments', () => {
  it.each(Object.entries(EXPERIMENTS))(
    '%s offers the same requests to every policy that takes all',
    (_name, each) => {
      const load = { machine: MACHINE, numRequests: 40, load: each.load, seed: 1 };
      const all = each.variants(MACHINE).filter(({ policy }) => policy.without === null);
      const arrived = all.map(({ policy }) => {
        const outcome = simulate({
          machine: MACHINE,
          policy,
          traffic: each.traffic(load),
          seed: 1,
        });
        return [outcome.metrics.numArrived, outcome.metrics.numTokens];
      });
      expect(new Set(arrived.map(String)).size).toBe(1);
    },
  );
});
