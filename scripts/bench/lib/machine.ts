import { availableParallelism, cpus, totalmem } from 'node:os';

/** One line about the machine, for tables of measurements. */
export function machineShape(): string {
  const gibibytes = Math.round(totalmem() / 2 ** 30);
  const model = cpus()[0]?.model.trim() ?? 'unknown CPU';
  return `${availableParallelism()} cores (${model}), ${gibibytes} GiB, Node.js ${process.version}`;
}
