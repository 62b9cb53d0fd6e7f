/** The native libraries, and the GPU through them. */
import { forkModule } from '../../threads/fork-module.ts';
import { chooseDevice, gpuOf, type Machine, THIS_MACHINE } from '../../serving/choices/device.ts';
import { formatBytes } from '../terminal/text-format.ts';
import { broken, type Check, ok, warning } from './check.ts';

/** A library that could be loaded, or why it could not. */
type Outcome = { readonly version: string } | { readonly failure: string };

export interface NativeProbe {
  readonly koffi: Outcome;
  readonly onnxRuntime: Outcome;
}

const PROBE = new URL('./native-probe-main.js', import.meta.url);

/** @param probe loads the libraries; for tests */
export async function nativeChecks(probe = loadInChild): Promise<Check[]> {
  const found = await probe();
  return [libraryCheck('koffi', found.koffi), libraryCheck('ONNX Runtime', found.onnxRuntime)];
}

function libraryCheck(name: string, outcome: Outcome): Check {
  if ('version' in outcome) return ok(name, outcome.version);
  const [reason = ''] = outcome.failure.trim().split('\n');
  const advice =
    'install again (npm ci), on a supported system: Linux x64 or arm64 with glibc 2.28, macOS arm64, Windows';
  return broken(name, `can't be loaded: ${reason}`, advice);
}

async function loadInChild(): Promise<NativeProbe> {
  const child = forkModule(PROBE, ['ignore', 'ignore', 'ignore', 'ipc']);
  return new Promise((resolve) => {
    child.once('message', (probe: NativeProbe) => resolve(probe));
    child.once('exit', (code, signal) => {
      const failure = `it crashes (${signal ?? `code ${code}`})`;
      resolve({ koffi: { failure }, onnxRuntime: { failure } });
    });
  });
}

/** Checks which device `--device auto` would choose. */
export async function gpuCheck(machine: Machine = THIS_MACHINE): Promise<Check> {
  const flags = {
    device: 'auto',
    deviceId: 0,
    providerOption: undefined,
    providerLibrary: undefined,
    graphCapture: false,
  } as const;
  if (!machine.mayHaveGpu) return ok('GPU', 'none; models run on the CPU');
  const chosen = await chooseDevice(flags, { attentionSoftcap: null }, machine);
  const gpu = gpuOf(chosen);
  if (gpu === null) {
    const advice =
      'models run on the CPU; for a GPU install its driver (NVIDIA, or a Vulkan driver and libvulkan1), see docs/gpu.md';
    return warning('GPU', (chosen.reason ?? '').replace('picked: ', ''), advice);
  }
  const memory = gpu.memoryBytes === null ? '' : `, ${formatBytes(gpu.memoryBytes)}`;
  return ok('GPU', `${gpu.device.name}, ${gpu.adapter ?? 'unnamed'}${memory}`);
}
