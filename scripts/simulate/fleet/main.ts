/**
 * A fleet of replicas behind different balancers, on a virtual clock:
 *
 *   npm run simulate -- fleet [--replicas 10,100] [--shape diurnal] [--failures 0] [--load 1]
 *                             [--seconds 120] [--machine <name>] [--seed <n>] [--svg <file>]
 *                             [--policy <balancer> --record <file>]
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { printTable } from '../../bench/lib/table.ts';
import { type MachineName, MACHINES } from '../machines.ts';
import { plotSvg } from '../plot.ts';
import { openRecording } from '../recorder.ts';
import { type FleetOutcome, type PickerName, simulateFleet } from './fleet.ts';
import { PICKERS } from './pickers.ts';
import { type Shape, SHAPES } from './traffic.ts';

const count = z.coerce.number().pipe(z.int().min(0));
const schema = z.object({
  machine: z.enum(Object.keys(MACHINES) as [MachineName]),
  replicas: z.string().transform((list) => list.split(',').map((text) => count.parse(text))),
  shape: z.enum(Object.keys(SHAPES) as [Shape]),
  failures: count,
  load: z.coerce.number().positive(),
  seconds: count,
  seed: count,
  policy: z.enum(Object.keys(PICKERS) as [PickerName]).optional(),
  svg: z.string().optional(),
  record: z.string().optional(),
  'record-steps': count,
});

export async function fleet(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      machine: { type: 'string', default: 'smollm2-135m-cpu' },
      replicas: { type: 'string', default: '10,100' },
      shape: { type: 'string', default: 'diurnal' },
      failures: { type: 'string', default: '0' },
      load: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '120' },
      seed: { type: 'string', default: '1' },
      policy: { type: 'string' },
      svg: { type: 'string' },
      record: { type: 'string' },
      'record-steps': { type: 'string', default: '5000' },
    },
  });
  const { machine: machineName, replicas, policy, svg, record, ...rest } = schema.parse(values);
  const { 'record-steps': maxSteps, ...load } = rest;
  if (record !== undefined && (policy === undefined || replicas.length > 1)) {
    throw new Error('--record needs a --policy and one number of --replicas');
  }
  const recorded = `${replicas[0]} replicas, ${policy}`;
  const recording =
    record === undefined ? null : openRecording(record, { name: recorded, fromMs: 0, maxSteps });
  const machine = MACHINES[machineName];
  const names = Object.keys(PICKERS) as PickerName[];
  console.log(
    `${machine.description}; ${load.shape} traffic of conversations for ${load.seconds} s, ` +
      `load ${load.load}, ${load.failures} replicas die\n`,
  );
  const rows: string[][] = [];
  let last: { readonly name: string; readonly outcome: FleetOutcome }[] = [];
  for (const numReplicas of replicas) {
    last = names
      .filter((name) => name === (policy ?? name))
      .map((picker) => {
        const start = performance.now();
        const outcome = simulateFleet({
          ...load,
          machine,
          numReplicas,
          picker,
          recorder: recording?.recorder,
        });
        const seconds = ((performance.now() - start) / 1000).toFixed(1);
        process.stderr.write(`${numReplicas}, ${picker}: ${seconds} s\n`);
        return { name: picker, outcome };
      });
    rows.push(...last.map(({ name, outcome }) => [`${numReplicas}`, name, ...cells(outcome)]));
  }
  recording?.close();
  printTable(HEADER, rows);
  if (svg !== undefined)
    await writeFile(svg, svgOf(`${replicas.at(-1)} replicas, ${load.shape}`, last));
}

const HEADER = [
  'replicas',
  'balancer',
  'requests',
  'prefix hits',
  'TTFT p50, ms',
  'p99',
  'ITL p99, ms',
  'good',
  'busiest',
  'sent again',
  'cut',
];

function cells({ metrics, prefixHitRate, numRetried, imbalance }: FleetOutcome): string[] {
  const { ttft, itl, numArrived, numGood, numCut } = metrics;
  return [
    String(numArrived),
    `${(100 * prefixHitRate).toFixed(1)}%`,
    ttft.percentile(50).toFixed(0),
    ttft.percentile(99).toFixed(0),
    itl.percentile(99).toFixed(0),
    `${((100 * numGood) / numArrived).toFixed(1)}%`,
    `${imbalance.toFixed(2)}x`,
    String(numRetried),
    String(numCut),
  ];
}

function svgOf(
  title: string,
  results: readonly { readonly name: string; readonly outcome: FleetOutcome }[],
): string {
  const series = (of: 'ttft' | 'itl') =>
    results.map(({ name, outcome }) => ({ name, points: outcome.metrics[of].cumulative() }));
  return plotSvg({
    title,
    panels: [
      { label: 'time to first token (ms)', series: series('ttft') },
      { label: 'inter-token latency (ms)', series: series('itl') },
    ],
  });
}
