import koffi from 'koffi';
import { ort, type Pointer } from './api.ts';
import { ortEnvironment } from './environment.ts';

/** Execution provider that runs a session's nodes ahead of the CPU. */
export interface ExecutionProvider {
  /** `CUDA`, `TensorRT`, or a name that SessionOptionsAppendExecutionProvider knows: `WebGPU`. */
  readonly name: string;
  readonly options?: Readonly<Record<string, string>>;
  /** A plugin that brings the provider; the runtime's own if left out. */
  readonly library?: ProviderLibrary;
}

export interface ProviderLibrary {
  /** Chosen by the caller, unique in the process. */
  readonly name: string;
  /** Absolute path of the shared library. */
  readonly path: string;
  /** Which of the devices that the plugin finds, from 0. */
  readonly deviceIndex: number;
}

/** Devices of registered plugins, by library name. They stay registered: sessions may outlive us. */
const pluginDevices = new Map<string, readonly Pointer[]>();

/**
 * Adds a provider to native session options.
 * @throws OrtError when its library or its device can't be had, or it does not know an option
 */
export function appendProvider(sessionOptions: Pointer, provider: ExecutionProvider): void {
  const { name, options = {}, library } = provider;
  const { api } = ort();
  const keys = Object.keys(options);
  const values = Object.values(options);
  if (library) {
    const device = BigUint64Array.of(pluginDevice(library));
    const environment = ortEnvironment();
    api.SessionOptionsAppendExecutionProvider_V2(
      sessionOptions,
      environment,
      device,
      device.length,
      keys,
      values,
      keys.length,
    );
  } else if (name === 'CUDA') {
    withOptions(api.CreateCUDAProviderOptions, api.ReleaseCUDAProviderOptions, (native) => {
      api.UpdateCUDAProviderOptions(native, keys, values, keys.length);
      api.SessionOptionsAppendExecutionProvider_CUDA_V2(sessionOptions, native);
    });
  } else if (name === 'TensorRT') {
    withOptions(api.CreateTensorRTProviderOptions, api.ReleaseTensorRTProviderOptions, (native) => {
      api.UpdateTensorRTProviderOptions(native, keys, values, keys.length);
      api.SessionOptionsAppendExecutionProvider_TensorRT_V2(sessionOptions, native);
    });
  } else {
    api.SessionOptionsAppendExecutionProvider(sessionOptions, name, keys, values, keys.length);
  }
}

function withOptions(
  create: () => Pointer,
  release: (options: Pointer) => void,
  use: (options: Pointer) => void,
): void {
  const options = create();
  try {
    use(options);
  } finally {
    release(options);
  }
}

function pluginDevice({ name, path, deviceIndex }: ProviderLibrary): Pointer {
  let devices = pluginDevices.get(name);
  if (!devices) {
    const before = new Set(epDevices());
    ort().api.RegisterExecutionProviderLibrary(ortEnvironment(), name, path);
    devices = epDevices().filter((device) => !before.has(device));
    pluginDevices.set(name, devices);
  }
  const device = devices[deviceIndex];
  if (device !== undefined) return device;
  const found = devices.map((each) => ort().api.EpDevice_EpName(each)).join(', ');
  throw new RangeError(
    `the provider library ${name} has no device ${deviceIndex}; it found ${found || 'none'}`,
  );
}

/** Addresses of the OrtEpDevices that the environment knows. */
function epDevices(): Pointer[] {
  const list = new BigUint64Array(1);
  const count = ort().api.GetEpDevices(ortEnvironment(), list);
  const [address = 0n] = list;
  return count === 0 ? [] : readPointers(address, count);
}

function readPointers(address: Pointer, count: number): Pointer[] {
  return Array.from(new BigUint64Array(koffi.view(address, count * 8)));
}
