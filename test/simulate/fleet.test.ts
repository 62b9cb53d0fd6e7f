import { describe, expect, it } from 'vitest';
import {
  type FleetOptions,
  type PickerName,
  simulateFleet,
} from '../../scripts/simulate/fleet/fleet.ts';
import { PICKERS } from '../../scripts/simulate/fleet/pickers.ts';
import { SHAPES } from '../../scripts/simulate/fleet/traffic.ts';
import { MACHINES } from '../../scripts/simulate/machines.ts';

const MACHINE = { ...MACHINES['smollm2-135m-cpu'], maxNumSeqs: 8, kvCacheTokens: 16_384 };
const OPTIONS: FleetOptions = {
  machine: MACHINE,
  numReplicas: 4,
  load: 0.8,
  seconds: 40,
  shape: 'steady',
  picker: 'least connections',
  seed: 1,
  failures: 0,
};
const run = (changes: Partial<FleetOptions>) => simulateFleet({ ...OPTIONS, ...changes });

describe('a simulated fleet', () => {
  // `simulateFleet` itself throws on a token that is lost or doubled, and on what is left over.
  it.each(Object.keys(PICKERS) as PickerName[])('finishes every request: %s', (picker) => {
    const { metrics, numRetried } = run({ picker });
    expect(metrics.numArrived).toBeGreaterThan(50);
    expect(metrics).toMatchObject({ numFinished: metrics.numArrived, numCut: 0 });
    expect(numRetried).toBe(0);
  });

  it('finds more prefixes where what begins alike goes to one replica', () => {
    const hits = (picker: PickerName) => run({ picker }).prefixHitRate;
    expect(hits('prefix affinity')).toBeGreaterThan(1.3 * hits('least connections'));
    expect(hits('endpoint picker')).toBeGreaterThan(1.3 * hits('least connections'));
  });

  it('loses what had begun on a replica that dies, and nothing else', () => {
    const { metrics, numRetried } = run({ failures: 6, load: 1.5 });
    const { numArrived, numFinished, numCut } = metrics;
    expect(numCut).toBeGreaterThan(0);
    expect(numRetried).toBeGreaterThan(0);
    expect(numFinished + numCut).toBe(numArrived);
  });

  it('has traffic whose mean does not depend on its shape', () => {
    for (const shape of Object.values(SHAPES)) {
      const times = Array.from({ length: 10_000 }, (_, index) => shape((index + 0.5) / 10_000));
      expect(times.reduce((sum, rate) => sum + rate, 0) / times.length).toBeCloseTo(1, 3);
    }
  });
});
