import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import type { Settings } from '../../settings/settings.ts';
import { leastNodeVersion } from '../../serving/version.ts';
import { type Check, checkTable } from './check.ts';
import {
  coresCheck,
  cpuCheck,
  descriptorsCheck,
  memoryCheck,
  nodeCheck,
} from './machine-checks.ts';
import { gpuCheck, nativeChecks } from './native-checks.ts';
import { cacheCheck, placeCheck } from './place-checks.ts';
import { hubCheck, modelChecks, serveSettings } from './serve-checks.ts';

/** `chairlift doctor`: what of this machine is in the way of a server, and what to do. */
export async function doctor({ options, operands }: Settings<'doctor'>): Promise<void> {
  const { host, port, json, offline, config } = options;
  const { check: settingsCheck, settings } = await serveSettings(operands[0] ?? null, config);
  const checks: Check[] = [
    nodeCheck(await leastNodeVersion()),
    ...(await nativeChecks()),
    cpuCheck(),
    coresCheck(),
    memoryCheck(),
    descriptorsCheck(),
    await cacheCheck(defaultCacheDirectory()),
    await gpuCheck(),
    await placeCheck(host, port),
    await hubCheck(offline),
    settingsCheck,
    ...(settings === null ? [] : await modelChecks(settings)),
  ];
  const isBroken = checks.some(({ status }) => status === 'broken');
  console.log(json ? JSON.stringify({ ok: !isBroken, checks }, null, 2) : checkTable(checks));
  if (isBroken) process.exitCode = 1;
}
