/** The process that tries a device: one question in by IPC, one answer out. */
import type { DeviceOptions, DeviceProbe } from './device-options.ts';
import { probeDevice } from './device-probe.ts';

process.once('message', (device: DeviceOptions) => {
  const probe: DeviceProbe = probeDevice(device);
  process.send?.(probe, () => process.exit(0));
});
