/**
 * The functions of the ONNX Runtime C API that we call, as typed JavaScript functions.
 *
 * `OrtApi` (onnxruntime_c_api.h) is an append-only table of function pointers: the index of a
 * function never changes, so a binding needs an index and a prototype for each and no headers.
 */
import koffi from 'koffi';
import { OrtError } from './error.ts';
import { onnxRuntimeLibraryPath } from './library.ts';

/** A native address. Only ever made by the C API, `addressOf` or the operating system. */
export type Pointer = bigint;

/** The C API version whose table we index into; the first ONNX Runtime to have it is 1.29. */
export const REQUIRED_API_VERSION = 29;

/** C types of arguments, and what JavaScript passes for them. */
interface Arguments {
  ptr: Pointer | null;
  /** Memory that the callee only touches during the call. */
  memory: ArrayBufferView;
  int: number;
  size: number;
  str: string;
  /** ORTCHAR_T: UTF-16 on Windows, UTF-8 elsewhere. */
  path: string;
  strings: string[];
}

const ARGUMENT_TYPES: Record<keyof Arguments, string> = {
  ptr: 'void *',
  memory: 'void *',
  int: 'int',
  size: 'size_t',
  str: 'str',
  path: process.platform === 'win32' ? 'str16' : 'str',
  strings: 'str *',
};

/** C types of the trailing out parameter, and what JavaScript gets for them. */
interface Results {
  none: void;
  ptr: Pointer;
  int: number;
  size: number;
}

interface Signature {
  readonly index: number;
  readonly args: readonly (keyof Arguments)[];
  /** The function's last parameter, a pointer to the result. */
  readonly out: keyof Results;
  /** `status`: returns an OrtStatus that has to be checked; the others can't fail. */
  readonly returns: 'status' | 'void' | 'str';
}

type ArgumentsOf<A extends readonly (keyof Arguments)[]> = {
  -readonly [K in keyof A]: Arguments[A[K]];
};
type FunctionOf<S extends Signature> = (
  ...args: ArgumentsOf<S['args']>
) => S['returns'] extends 'str' ? string : Results[S['out']];

function checked<const A extends readonly (keyof Arguments)[], O extends keyof Results = 'none'>(
  index: number,
  args: A,
  out?: O,
) {
  return { index, args, out: out ?? ('none' as O), returns: 'status' } as const;
}

function unchecked<const A extends readonly (keyof Arguments)[]>(index: number, args: A) {
  return { index, args, out: 'none', returns: 'void' } as const;
}

function named<const A extends readonly (keyof Arguments)[]>(index: number, args: A) {
  return { index, args, out: 'none', returns: 'str' } as const;
}

const SIGNATURES = {
  CreateEnv: checked(3, ['int', 'str'], 'ptr'),
  ReleaseEnv: unchecked(92, ['ptr']),
  DisableTelemetryEvents: checked(6, ['ptr']),
  CreateThreadingOptions: checked(121, [], 'ptr'),
  ReleaseThreadingOptions: unchecked(122, ['ptr']),
  SetGlobalIntraOpNumThreads: checked(147, ['ptr', 'int']),
  SetGlobalInterOpNumThreads: checked(148, ['ptr', 'int']),
  SetGlobalSpinControl: checked(149, ['ptr', 'int']),
  CreateEnvWithGlobalThreadPools: checked(119, ['int', 'str', 'ptr'], 'ptr'),

  CreateArenaCfgV2: checked(164, ['strings', 'memory', 'size'], 'ptr'),
  ReleaseArenaCfg: unchecked(157, ['ptr']),
  CreateAndRegisterAllocator: checked(144, ['ptr', 'ptr', 'ptr']),
  UnregisterAllocator: checked(177, ['ptr', 'ptr']),

  CreateSessionOptions: checked(10, [], 'ptr'),
  ReleaseSessionOptions: unchecked(100, ['ptr']),
  SetSessionGraphOptimizationLevel: checked(23, ['ptr', 'int']),
  SetIntraOpNumThreads: checked(24, ['ptr', 'int']),
  SetInterOpNumThreads: checked(25, ['ptr', 'int']),
  EnableProfiling: checked(14, ['ptr', 'path']),
  DisableMemPattern: checked(17, ['ptr']),
  DisablePerSessionThreads: checked(120, ['ptr']),
  AddSessionConfigEntry: checked(130, ['ptr', 'str', 'str']),
  SessionOptionsAppendExecutionProvider: checked(216, ['ptr', 'str', 'strings', 'strings', 'size']),

  SessionOptionsAppendExecutionProvider_CUDA_V2: checked(204, ['ptr', 'ptr']),
  CreateCUDAProviderOptions: checked(205, [], 'ptr'),
  UpdateCUDAProviderOptions: checked(206, ['ptr', 'strings', 'strings', 'size']),
  ReleaseCUDAProviderOptions: unchecked(208, ['ptr']),
  SessionOptionsAppendExecutionProvider_TensorRT_V2: checked(170, ['ptr', 'ptr']),
  CreateTensorRTProviderOptions: checked(171, [], 'ptr'),
  UpdateTensorRTProviderOptions: checked(172, ['ptr', 'strings', 'strings', 'size']),
  ReleaseTensorRTProviderOptions: unchecked(174, ['ptr']),
  RegisterExecutionProviderLibrary: checked(301, ['ptr', 'str', 'path']),
  GetEpDevices: checked(303, ['ptr', 'memory'], 'size'),
  SessionOptionsAppendExecutionProvider_V2: checked(304, [
    'ptr',
    'ptr',
    'memory',
    'size',
    'strings',
    'strings',
    'size',
  ]),
  EpDevice_EpName: named(312, ['ptr']),

  CreateSession: checked(7, ['ptr', 'path', 'ptr'], 'ptr'),
  AddInitializer: checked(150, ['ptr', 'str', 'ptr']),
  CreatePrepackedWeightsContainer: checked(166, [], 'ptr'),
  ReleasePrepackedWeightsContainer: unchecked(167, ['ptr']),
  CreateSessionWithPrepackedWeightsContainer: checked(168, ['ptr', 'path', 'ptr', 'ptr'], 'ptr'),
  CreateSessionFromArrayWithPrepackedWeightsContainer: checked(
    169,
    ['ptr', 'memory', 'size', 'ptr', 'ptr'],
    'ptr',
  ),
  CreateSessionFromArray: checked(8, ['ptr', 'memory', 'size', 'ptr'], 'ptr'),
  ReleaseSession: unchecked(95, ['ptr']),
  SessionGetInputCount: checked(30, ['ptr'], 'size'),
  SessionGetOutputCount: checked(31, ['ptr'], 'size'),
  SessionGetInputTypeInfo: checked(33, ['ptr', 'size'], 'ptr'),
  SessionGetOutputTypeInfo: checked(34, ['ptr', 'size'], 'ptr'),
  SessionGetInputName: checked(36, ['ptr', 'size', 'ptr'], 'ptr'),
  SessionGetOutputName: checked(37, ['ptr', 'size', 'ptr'], 'ptr'),
  SessionGetMemoryInfoForInputs: checked(380, ['ptr', 'memory', 'size']),
  Run: checked(9, ['ptr', 'ptr', 'memory', 'memory', 'size', 'memory', 'size', 'memory']),

  SessionGetModelMetadata: checked(111, ['ptr'], 'ptr'),
  ModelMetadataGetProducerName: checked(112, ['ptr', 'ptr'], 'ptr'),
  ModelMetadataLookupCustomMetadataMap: checked(116, ['ptr', 'ptr', 'str'], 'ptr'),
  ReleaseModelMetadata: unchecked(118, ['ptr']),

  CastTypeInfoToTensorInfo: checked(55, ['ptr'], 'ptr'),
  ReleaseTypeInfo: unchecked(98, ['ptr']),
  GetTensorElementType: checked(60, ['ptr'], 'int'),
  GetDimensionsCount: checked(61, ['ptr'], 'size'),
  GetDimensions: checked(62, ['ptr', 'memory', 'size']),
  GetSymbolicDimensions: checked(63, ['ptr', 'memory', 'size']),
  ReleaseTensorTypeAndShapeInfo: unchecked(99, ['ptr']),

  CreateTensorAsOrtValue: checked(48, ['ptr', 'memory', 'size', 'int'], 'ptr'),
  CreateTensorWithDataAsOrtValue: checked(
    49,
    ['ptr', 'ptr', 'size', 'memory', 'size', 'int'],
    'ptr',
  ),
  GetTensorMutableData: checked(51, ['ptr'], 'ptr'),
  GetTensorTypeAndShape: checked(65, ['ptr'], 'ptr'),
  GetStringTensorDataLength: checked(53, ['ptr'], 'size'),
  GetStringTensorContent: checked(54, ['ptr', 'memory', 'size', 'memory', 'size']),
  GetResizedStringTensorElementBuffer: checked(252, ['ptr', 'size', 'size'], 'ptr'),
  ReleaseValue: unchecked(96, ['ptr']),

  CreateMemoryInfo: checked(68, ['str', 'int', 'int', 'int'], 'ptr'),
  CreateCpuMemoryInfo: checked(69, ['int', 'int'], 'ptr'),
  MemoryInfoGetName: checked(71, ['ptr'], 'ptr'),
  ReleaseMemoryInfo: unchecked(94, ['ptr']),
  AllocatorFree: checked(76, ['ptr', 'ptr']),
  GetAllocatorWithDefaultOptions: checked(78, [], 'ptr'),
  CreateAllocator: checked(131, ['ptr', 'ptr'], 'ptr'),
  ReleaseAllocator: unchecked(132, ['ptr']),

  CreateRunOptions: checked(39, [], 'ptr'),
  RunOptionsSetRunTag: checked(42, ['ptr', 'str']),
  RunOptionsSetTerminate: checked(46, ['ptr']),
  RunOptionsUnsetTerminate: checked(47, ['ptr']),
  AddRunConfigEntry: checked(165, ['ptr', 'str', 'str']),
  ReleaseRunOptions: unchecked(97, ['ptr']),

  GetAvailableProviders: checked(125, ['memory'], 'int'),
  ReleaseAvailableProviders: checked(126, ['ptr', 'int']),
} satisfies Record<string, Signature>;

export type OrtApi = {
  readonly [K in keyof typeof SIGNATURES]: FunctionOf<(typeof SIGNATURES)[K]>;
};

export interface OrtLibrary {
  /** Such as `1.30.0`. */
  readonly version: string;
  readonly api: OrtApi;
  /** OrtApiBase, for libraries of operators. */
  readonly base: Pointer;
}

let loaded: OrtLibrary | undefined;

/** Functions found through the table don't hold on to their library: collected, it is unloaded. */
const heldLibraries: unknown[] = [];

/** The library that onnxruntime-node ships, loaded once per process. */
export function ort(): OrtLibrary {
  loaded ??= loadOrtLibrary(onnxRuntimeLibraryPath(), REQUIRED_API_VERSION);
  return loaded;
}

/**
 * Loads an ONNX Runtime library and binds its C API.
 * @param path of the shared library
 * @param apiVersion the lowest C API version (1.N has version N) to accept
 * @throws Error when the library can't be loaded or is too old
 */
export function loadOrtLibrary(path: string, apiVersion: number): OrtLibrary {
  const library = koffi.load(path);
  heldLibraries.push(library);
  const base: Pointer = library.func('OrtGetApiBase', 'void *', [])();
  const getApi = functionAt(base, 0, 'void *', ['uint32_t']);
  const version: string = functionAt(base, 1, 'str', [])();
  const minor = Number(version.split('.')[1]);
  // Asked first, because GetApi answers a version it doesn't have with a line on stderr.
  const table: Pointer | null = minor >= apiVersion ? getApi(apiVersion) : null;
  if (table === null) {
    throw new Error(
      `ONNX Runtime ${version} at ${path} is too old: C API version ${apiVersion} is needed, ` +
        `that is ONNX Runtime 1.${apiVersion} or newer. Update the onnxruntime-node package.`,
    );
  }
  return { version, api: bindApi(table), base };
}

function bindApi(table: Pointer): OrtApi {
  const statusCode = functionAt(table, 1, 'int', ['void *']);
  const statusMessage = functionAt(table, 2, 'str', ['void *']);
  const releaseStatus = functionAt(table, 93, 'void', ['void *']);

  function check(status: Pointer | null): void {
    if (status === null) return;
    const error = new OrtError(statusMessage(status), statusCode(status));
    releaseStatus(status);
    throw error;
  }

  function bind(signature: Signature) {
    const { index, args, out, returns } = signature;
    const types = args.map((type) => ARGUMENT_TYPES[type]);
    if (returns !== 'status') return functionAt(table, index, returns, types);
    const native = functionAt(
      table,
      index,
      'void *',
      out === 'none' ? types : [...types, 'void *'],
    );
    if (out === 'none') return (...values: unknown[]) => check(native(...values));
    const result = new BigUint64Array(1);
    const asInt = new Int32Array(result.buffer);
    const read = {
      ptr: () => result[0],
      size: () => Number(result[0]),
      int: () => asInt[0],
    }[out];
    return (...values: unknown[]) => {
      result[0] = 0n;
      check(native(...values, result));
      return read();
    };
  }

  const api = Object.entries(SIGNATURES).map(([name, signature]) => [name, bind(signature)]);
  // The signatures above are both the run-time binding and the type: this is where they meet.
  return Object.fromEntries(api) as OrtApi;
}

function functionAt(table: Pointer, index: number, result: string, args: string[]) {
  const pointer: Pointer = koffi.decode(table, index * 8, 'void *');
  return koffi.decode(pointer, koffi.proto(result, args)) as ReturnType<
    ReturnType<typeof koffi.load>['func']
  >;
}
