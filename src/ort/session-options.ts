import { ort } from './api.ts';
import { mayOverflowInt8 } from './cpu-features.ts';
import { sharesThreads } from './environment.ts';
import { registerNativeKernels } from './native-kernels.ts';
import { appendProvider, type ExecutionProvider } from './execution-provider.ts';

/** How a session is to be made; what is left out is ONNX Runtime's default. */
export interface SessionOptions {
  /** Threads that one operator may use; 0 lets ONNX Runtime choose. */
  readonly intraOpThreads?: number;
  /** Whether idle worker threads spin for a while before they sleep. */
  readonly spinning?: boolean;
  /** Whether the graph has operators of native/. */
  readonly nativeKernels?: boolean;
  /** Providers in order of preference, before the CPU. */
  readonly providers?: readonly ExecutionProvider[];
  /** Writes a profile, once the session is released, to a file of its own beginning with this path. */
  readonly profilePrefix?: string;
  /** Further `session.*` entries, see onnxruntime_session_options_config_keys.h. */
  readonly config?: Readonly<Record<string, string>>;
}

const ENABLE_ALL_OPTIMIZATIONS = 99;

let numProfiles = 0;

/** Makes native session options, hands them to `use`, and releases them whatever happens. */
export function withSessionOptions<R>(options: SessionOptions, use: (pointer: bigint) => R): R {
  const { api } = ort();
  const pointer = api.CreateSessionOptions();
  try {
    api.SetSessionGraphOptimizationLevel(pointer, ENABLE_ALL_OPTIMIZATIONS);
    const { intraOpThreads = 0, spinning } = options;
    // Comes first: providers log while they are appended, which needs an environment.
    const isShared = sharesThreads(intraOpThreads) && spinning === undefined;
    if (isShared) api.DisablePerSessionThreads(pointer);
    else api.SetIntraOpNumThreads(pointer, intraOpThreads);
    if (options.nativeKernels) registerNativeKernels(pointer);
    // One operator at a time: decoder graphs are chains.
    api.SetInterOpNumThreads(pointer, 1);
    // Exact int8 matmuls, which are slower, on CPUs where the usual ones are inexact.
    if (mayOverflowInt8()) api.AddSessionConfigEntry(pointer, 'session.x64quantprecision', '1');
    // Memory patterns are kept per input shape, and a server always sees new shapes.
    api.DisableMemPattern(pointer);
    // ONNX Runtime adds the time in milliseconds, but two sessions may be made in the same
    // millisecond.
    if (options.profilePrefix !== undefined) {
      api.EnableProfiling(pointer, `${options.profilePrefix}-${numProfiles++}`);
    }
    if (spinning !== undefined) {
      const spin = spinning ? '1' : '0';
      api.AddSessionConfigEntry(pointer, 'session.intra_op.allow_spinning', spin);
    }
    for (const [key, value] of Object.entries(options.config ?? {})) {
      api.AddSessionConfigEntry(pointer, key, value);
    }
    for (const provider of options.providers ?? []) appendProvider(pointer, provider);
    return use(pointer);
  } finally {
    api.ReleaseSessionOptions(pointer);
  }
}
