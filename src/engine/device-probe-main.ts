/** The process that tries a device: one question in by IPC, one answer out. */
import type { DeviceOptions } from './device.ts';
import { type DeviceProbe, probeDevice } from './device-probe.ts';

process.once('message', (device: DeviceOptions) => {
  const probe: DeviceProbe = probeDevice(device);
  process.send?.(probe, () => process.exit(0));
});
