import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  CPU_DEVICE,
  type DeviceName,
  type DeviceOptions,
  type DeviceProbe,
  NO_DEVICE,
} from '../../engine/gpu/device-options.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import type { ActivationDtype } from '../../model/manifest.ts';
import { forkModule } from '../../threads/fork-module.ts';
import { UsageError } from '../../settings/usage-error.ts';
import { UserError } from '../../user-error.ts';
import type { Options } from '../../settings/options.ts';

const PROBE = new URL('../../engine/gpu/device-probe-main.js', import.meta.url);

/** A driver that does not answer for this long is broken. */
const PROBE_TIMEOUT_MS = 60_000;

/** Devices that `auto` tries, in this order. Not TensorRT, which compiles a model for minutes. */
const AUTO_DEVICES = ['cuda', 'webgpu'] as const;

/** Under Linux every GPU shows itself as one of these: without, nothing needs to be tried. */
const GPU_FILES = ['/dev/dri', '/dev/nvidiactl', '/dev/dxg', '/dev/mali0', '/dev/kgsl-3d0'];

/** Flags that select the device of a model. */
export type DeviceFlags = Options<
  'device' | 'deviceId' | 'providerOption' | 'providerLibrary' | 'graphCapture'
>;

export interface ChosenDevice {
  readonly device: DeviceOptions;
  /** Activation types that decoders can compute in on this device, the fastest first. */
  readonly activationDtypes: readonly ActivationDtype[];
  /** It has a kernel for attention over a KV cache in blocks. */
  readonly hasPagedAttention: boolean;
  /** As its driver calls it; null where that can't be known. */
  readonly adapter: string | null;
  /** Memory of the device; null for the CPU, and if unknown. */
  readonly memoryBytes: number | null;
  /** Why `auto` chose it; null when it was asked for. */
  readonly reason: string | null;
}

/** Where a model runs; null for the CPU, also if nothing was chosen. */
export function gpuOf<T extends Pick<ChosenDevice, 'device'>>(chosen: T | null): T | null {
  return chosen?.device.name === 'cpu' ? null : chosen;
}

const ON_CPU: Omit<ChosenDevice, 'reason'> = {
  device: CPU_DEVICE,
  activationDtypes: ['float32'],
  hasPagedAttention: false,
  adapter: null,
  memoryBytes: null,
};

/** Probes of the machine that devices are chosen on. */
export interface Machine {
  /** False where nothing needs to be tried. */
  readonly mayHaveGpu: boolean;
  readonly probe: (device: DeviceOptions) => Promise<DeviceProbe>;
}

export const THIS_MACHINE: Machine = {
  mayHaveGpu: process.platform !== 'linux' || GPU_FILES.some((path) => existsSync(path)),
  probe: tryDevice,
};

/** Properties that decide whether a device can run a model. */
export interface RunnableModel {
  /** Cap of attention scores; null if they have none. */
  readonly attentionSoftcap: number | null;
}

/**
 * Chooses the device for a model according to `--device`. A GPU is taken only if a graph runs on it.
 * @throws UsageError when a device that was asked for can't run this model, UserError when it does
 *   not work, saying why
 */
export async function chooseDevice(
  flags: DeviceFlags,
  model: RunnableModel,
  machine: Machine = THIS_MACHINE,
): Promise<ChosenDevice> {
  if (flags.graphCapture && flags.device !== 'auto' && flags.device !== 'webgpu') {
    throw new UsageError(`--graph-capture is for WebGPU, not for --device ${flags.device}`);
  }
  if (flags.device === 'cpu') return { ...ON_CPU, reason: null };
  if (flags.device !== 'auto') {
    const device = deviceOptions(flags, flags.device);
    if (flags.device === 'webgpu' && flags.deviceId !== 0) {
      throw new UsageError(
        '--device-id is for CUDA: WebGPU takes the adapter that it finds best, which ' +
          '--provider-option powerPreference=low-power and the settings of the Vulkan loader change',
      );
    }
    const obstacle = modelObstacle(flags.device, model);
    if (obstacle !== null) {
      throw new UsageError(
        `--device ${flags.device} cannot run this model: ${obstacle} (supported: --device cpu, cuda)`,
      );
    }
    const probe = await machine.probe(device);
    if (probe.failure === null) return { device, ...probe, reason: null };
    throw new UserError(`--device ${flags.device} does not work here: ${probe.failure}`);
  }
  const { reason, ...picked } = await pickDevice(flags, model, machine);
  const isIgnored = flags.graphCapture && !picked.device.graphCapture;
  return { ...picked, reason: isIgnored ? `${reason}; --graph-capture is for WebGPU` : reason };
}

/** Chooses the device for `--device auto`. */
async function pickDevice(
  flags: DeviceFlags,
  model: RunnableModel,
  { mayHaveGpu, probe: tryOn }: Machine,
): Promise<ChosenDevice> {
  if (!mayHaveGpu) return { ...ON_CPU, reason: 'picked: this machine has no GPU' };
  const reasons: string[] = [];
  for (const name of AUTO_DEVICES) {
    const device = deviceOptions(flags, name);
    const probe = await tryOn(device);
    const obstacle =
      probe.failure ??
      (probe.isSoftware ? softwareReason(probe) : null) ??
      modelObstacle(name, model);
    if (obstacle === null) return { device, ...probe, reason: reasonFor('picked', reasons) };
    reasons.push(`${name}: ${obstacle}`);
  }
  return { ...ON_CPU, reason: reasonFor('picked', reasons) };
}

/** Why a device that works cannot run a model; null if it can. */
export function modelObstacle(
  name: DeviceName,
  { attentionSoftcap }: RunnableModel,
): string | null {
  if (name !== 'webgpu' || attentionSoftcap === null) return null;
  return 'its attention kernel leaves out the cap of scores (attn_logit_softcapping)';
}

function softwareReason({ adapter }: DeviceProbe): string {
  return `its only adapter, ${adapter}, computes on the CPU`;
}

function reasonFor(verb: string, reasons: readonly string[]): string {
  return reasons.length === 0 ? `${verb}: it works` : `${verb}: ${reasons.join('; ')}`;
}

function deviceOptions(
  { deviceId, providerOption, providerLibrary, graphCapture }: DeviceFlags,
  name: DeviceName,
): DeviceOptions {
  const path = providerLibrary?.[name];
  return {
    name,
    id: deviceId,
    providerOptions: {
      ...(name === 'tensorrt' && path === undefined ? compilationCaches() : {}),
      ...providerOption,
    },
    providerLibrary: path === undefined ? null : { name, path },
    graphCapture: graphCapture && name === 'webgpu',
  };
}

/** TensorRT compiles for minutes: what it compiled and timed is kept for the next start. */
function compilationCaches(): Record<string, string> {
  const folder = join(defaultCacheDirectory(), 'tensorrt');
  return {
    trt_engine_cache_enable: '1',
    trt_engine_cache_path: folder,
    trt_timing_cache_enable: '1',
    trt_timing_cache_path: folder,
  };
}

/** In a process of its own, because a broken driver can crash it. Never rejects. */
async function tryDevice(device: DeviceOptions): Promise<DeviceProbe> {
  // One line replaces what drivers print when they crash.
  const child = forkModule(PROBE, ['ignore', 'ignore', 'ignore', 'ipc']);
  const failed = (failure: string): DeviceProbe => ({ ...NO_DEVICE, failure });
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      resolve(failed('its driver does not answer'));
    }, PROBE_TIMEOUT_MS);
    const finish = (probe: DeviceProbe): void => {
      clearTimeout(timer);
      resolve(probe);
    };
    child.once('message', (probe: DeviceProbe) => finish(probe));
    child.once('error', (error) => finish(failed(error.message)));
    child.once('exit', (code, signal) =>
      finish(failed(`its driver crashed (${signal ?? `code ${code}`})`)),
    );
    child.send(device);
  });
}
