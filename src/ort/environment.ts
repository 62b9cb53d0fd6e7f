import koffi from 'koffi';
import { availableParallelism } from 'node:os';
import { ort, type Pointer } from './api.ts';
import { coreLimits } from './usable-cores.ts';

/** OrtLoggingLevel. Errors come back as exceptions; printing them too would only repeat them. */
const LOG_FATAL_ONLY = 4;

let environment: { readonly pointer: Pointer; readonly numThreads: number } | undefined;

/**
 * The process's OrtEnv, made at first use and never released: sessions may outlive any owner.
 * @param numThreads of the thread pool that sessions share; counts at first use only, 0 lets ONNX
 *   Runtime choose
 */
export function ortEnvironment(numThreads = 0): Pointer {
  environment ??= { pointer: createEnvironment(numThreads), numThreads };
  return environment.pointer;
}

/**
 * Whether the pool that sessions share has that many threads. Threads of a pool spin for a while
 * after each run: with a pool of its own each, sessions that take turns would hold up each other.
 */
export function sharesThreads(numThreads: number): boolean {
  ortEnvironment(numThreads);
  return environment?.numThreads === numThreads;
}

/**
 * Telemetry is off, by both switches. The variables, one for each release of ONNX Runtime, are read
 * when an environment is made; otherwise that leaves a device id and a store of events in the
 * user's cache folder and looks up the vendor's host. The call is for Windows.
 */
function createEnvironment(numThreads: number): Pointer {
  process.env['ORT_DISABLE_TELEMETRY'] = '1';
  process.env['ORT_TELEMETRY_DISABLED'] = '1';
  const { api } = ort();
  const options = api.CreateThreadingOptions();
  try {
    api.SetGlobalIntraOpNumThreads(options, numThreads);
    // One operator at a time: decoder graphs are chains.
    api.SetGlobalInterOpNumThreads(options, 1);
    // Threads that wait would spin on cores, or use up a container's time, that the others need.
    if (numThreads > Math.min(availableParallelism(), coreLimits().quota))
      api.SetGlobalSpinControl(options, 0);
    const pointer = api.CreateEnvWithGlobalThreadPools(LOG_FATAL_ONLY, 'chairlift', options);
    api.DisableTelemetryEvents(pointer);
    return pointer;
  } finally {
    api.ReleaseThreadingOptions(options);
  }
}

/** Such as `1.30.0`. */
export function ortVersion(): string {
  return ort().version;
}

/** Execution providers compiled into the library, such as `CPUExecutionProvider`. */
export function availableProviders(): string[] {
  const { api } = ort();
  const list = new BigUint64Array(1);
  const count = api.GetAvailableProviders(list);
  const names: string[] = koffi.decode(list[0], 'str', count);
  api.ReleaseAvailableProviders(list[0] ?? null, count);
  return names;
}
