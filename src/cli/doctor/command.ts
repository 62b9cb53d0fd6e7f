import { Command } from 'commander';
import { defaultCacheDirectory } from '../../model/build/cache-directory.ts';
import { addOptions, readOptions } from '../options.ts';
import { leastNodeVersion } from '../version.ts';
import { type Check, checkTable } from './check.ts';
import {
  coresCheck,
  cpuCheck,
  descriptorsCheck,
  memoryCheck,
  nodeCheck,
} from './machine-checks.ts';
import { gpuCheck, nativeChecks } from './native-checks.ts';
import { cacheCheck, portCheck } from './place-checks.ts';

const NAMES = ['host', 'port'] as const;

/** `chairlift doctor`: what of this machine is in the way of a server, and what to do. */
export function doctorCommand(): Command {
  const command = new Command('doctor')
    .description('check this machine: libraries, memory, folders, GPU, port; say what to do')
    .option('--json', 'print JSON instead of a table');
  return addOptions(command, NAMES).action(async () => {
    const { host, port } = readOptions<(typeof NAMES)[number]>(command);
    const checks: Check[] = [
      nodeCheck(await leastNodeVersion()),
      ...(await nativeChecks()),
      cpuCheck(),
      coresCheck(),
      memoryCheck(),
      descriptorsCheck(),
      await cacheCheck(defaultCacheDirectory()),
      await gpuCheck(),
      await portCheck(host, port),
    ];
    const isBroken = checks.some(({ status }) => status === 'broken');
    const { json } = command.opts<{ json?: boolean }>();
    console.log(json ? JSON.stringify({ ok: !isBroken, checks }, null, 2) : checkTable(checks));
    if (isBroken) process.exitCode = 1;
  });
}
