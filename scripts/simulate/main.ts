/**
 * Serving policies side by side, on a virtual clock: the real scheduler, cache, cost model and queue,
 * with a machine's step costs in place of a model.
 *
 *   npm run simulate -- <experiment> [--machine <name>] [--requests <n>] [--load <x>] [--seed <n>]
 *                       [--policy <name>] [--svg <file>] [--record <file>]
 *   npm run simulate -- soak [--machine <name>] [--seconds 7200]
 *   npm run simulate -- next-turn [--machine <name>]
 *   npm run simulate -- fleet [flags: see fleet/main.ts]
 *
 * With --record the iterations of one --policy, from second --record-from on and --record-steps of them,
 * are written as lines of JSON that the page /ui/batch replays.
 *
 * Without arguments it lists experiments and machines.
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { type Experiment, EXPERIMENTS } from './experiments.ts';
import { fleet } from './fleet/main.ts';
import type { Machine } from './machine.ts';
import { type MachineName, MACHINES } from './machines.ts';
import { plotSvg } from './plot.ts';
import { nextTurn } from './next-turn.ts';
import { openRecording } from './recorder.ts';
import { printResults, type Result } from './report.ts';
import { simulate } from './simulation.ts';
import { soak } from './soak.ts';

const [command, ...rest] = process.argv.slice(2);
const { values, positionals } = parseArgs({
  // A fleet has flags of its own.
  args: command === 'fleet' ? [command] : process.argv.slice(2),
  allowPositionals: true,
  options: {
    machine: { type: 'string', default: 'smollm2-135m-cpu' },
    requests: { type: 'string', default: '5000' },
    load: { type: 'string' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '7200' },
    policy: { type: 'string' },
    svg: { type: 'string' },
    record: { type: 'string' },
    'record-from': { type: 'string', default: '0' },
    'record-steps': { type: 'string', default: '2000' },
  },
});

const isMachineName = (name: string): name is MachineName => name in MACHINES;
const isExperimentName = (name: string): name is keyof typeof EXPERIMENTS => name in EXPERIMENTS;
const count = z.coerce.number().pipe(z.int().min(1));

function run(experiment: Experiment, machine: Machine): Result[] {
  const numRequests = count.parse(values.requests);
  const load = z.coerce
    .number()
    .positive()
    .parse(values.load ?? experiment.load);
  const seed = count.parse(values.seed);
  const variants = experiment.variants(machine);
  const chosen = variants.filter((each) => each.name === (values.policy ?? each.name));
  if (chosen.length === 0) {
    throw new Error(`the policies are ${variants.map((each) => each.name).join(', ')}`);
  }
  const recording = openRecordingOf(chosen.map((each) => each.name));
  return chosen.map(({ name, policy }) => {
    const traffic = experiment.traffic({ machine, numRequests, load, seed });
    const start = performance.now();
    const outcome = simulate({ machine, policy, traffic, seed, recorder: recording?.recorder });
    recording?.close();
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    process.stderr.write(`${name}: ${(outcome.elapsedMs / 1000).toFixed(0)} s in ${seconds} s\n`);
    return { name, outcome };
  });
}

/** @throws Error where it would have several policies in it */
function openRecordingOf(policies: readonly string[]) {
  const { record } = values;
  if (record === undefined) return null;
  if (policies.length > 1) throw new Error(`--record needs a --policy: ${policies.join(', ')}`);
  const fromMs = 1000 * z.coerce.number().min(0).parse(values['record-from']);
  const maxSteps = count.parse(values['record-steps']);
  return openRecording(record, { name: `${values.machine}, ${policies[0]}`, fromMs, maxSteps });
}

function svgOf(title: string, results: readonly Result[]): string {
  const series = (of: 'ttft' | 'itl') =>
    results.map(({ name, outcome }) => ({ name, points: outcome.metrics[of].cumulative() }));
  const panels = [
    { label: 'time to first token (ms)', series: series('ttft') },
    { label: 'inter-token latency (ms)', series: series('itl') },
  ];
  return plotSvg({ title, panels });
}

function listNames(): void {
  console.log('experiments:');
  for (const [name, { title }] of Object.entries(EXPERIMENTS)) console.log(`  ${name}: ${title}`);
  console.log('  soak: mixed load with clients that give up; checks counters, tokens and memory');
  console.log('  next-turn: the next turn of an agent behind a long text, beside streams');
  console.log('  fleet: replicas behind balancers; it has flags of its own, see fleet/main.ts');
  console.log('machines:');
  for (const [name, { description }] of Object.entries(MACHINES)) {
    console.log(`  ${name}: ${description}`);
  }
}

const [name = ''] = positionals;
if (!isMachineName(values.machine)) throw new Error(`there is no machine ${values.machine}`);
const machine: Machine = MACHINES[values.machine];
if (name === 'fleet') {
  await fleet(rest);
} else if (name === 'soak') {
  soak({ machine, seconds: count.parse(values.seconds), seed: count.parse(values.seed) });
} else if (name === 'next-turn') {
  nextTurn(machine, count.parse(values.seed));
} else if (isExperimentName(name)) {
  const { title } = EXPERIMENTS[name];
  const results = run(EXPERIMENTS[name], machine);
  console.log(`\n${title}; ${machine.description}\n`);
  printResults(machine, results);
  if (values.svg !== undefined) {
    await writeFile(values.svg, svgOf(`${title}; ${values.machine}`, results));
  }
} else {
  listNames();
}
