import type { BuildOptions } from '../../model/build/build-options.ts';
import {
  type KvCacheDtype,
  NATIVE_KV_CACHE_DTYPES,
  NATIVE_PRECISIONS,
} from '../../model/manifest.ts';
import type { FoundKernels } from '../../ort/native-kernels.ts';
import { UsageError } from '../../settings/usage-error.ts';
import type { Options } from '../../settings/options.ts';
import type { PrecisionChoice } from './precision-choice.ts';

/**
 * Type of the KV cache with native kernels where `--kv-cache-dtype` does not set it: the fastest for long texts, with
 * half the memory of float16 and as near to fp32 beside weights in int8 (docs/benchmarks.md).
 */
const NATIVE_CACHE: KvCacheDtype = 'int8';

export interface KernelChoice extends Pick<BuildOptions, 'nativeKernels'> {
  /** For the banner; null to show nothing. */
  readonly description: string | null;
}

/** Facts that the choice of kernels depends on. */
export interface KernelCircumstances extends Pick<
  PrecisionChoice,
  'precision' | 'activationDtype' | 'stored'
> {
  readonly model: 'buildable' | 'export';
  /** Whether its layers attend to an encoder's output. */
  readonly hears?: boolean;
  /** Name of the device, such as `cpu`. */
  readonly device: string;
}

/**
 * Chooses the kernels of a model according to `--kernels`: our own if they support the model and have a
 * library for this CPU.
 * @throws UsageError when ours are asked for where there are none
 */
export async function resolveKernels(
  { kernels, kvCacheDtype }: Options<'kernels' | 'kvCacheDtype'>,
  circumstances: KernelCircumstances,
  load: () => Promise<FoundKernels> = findNativeKernels,
): Promise<KernelChoice> {
  const kept = kernels === 'auto' ? otherBlocks(circumstances) : null;
  const unfit =
    kernels === 'onnxruntime' ? 'they are asked for' : (unfitness(circumstances) ?? kept);
  const found = unfit === null ? await load() : null;
  const reason = unfit ?? (found && missing(found));
  if (found === null || 'missing' in found || reason !== null) {
    if (kernels === 'native') throw new UsageError(`--kernels native: ${reason}`);
    if (NATIVE_PRECISIONS.has(circumstances.precision)) {
      const why = kernels === 'onnxruntime' ? '--kernels onnxruntime leaves them out' : reason;
      throw new UsageError(`--precision ${circumstances.precision} needs our own kernels: ${why}`);
    }
    if (NATIVE_KV_CACHE_DTYPES.has(kvCacheDtype)) {
      throw new UsageError(`--kv-cache-dtype ${kvCacheDtype} needs our own kernels: ${reason}`);
    }
    // Nobody expects our own kernels for a model that they do not support.
    const isTold = unfit === null || kept !== null || kernels === 'onnxruntime';
    return { description: isTold ? `ONNX Runtime's: ${reason}` : null };
  }
  const dtype = kvCacheDtype === 'auto' ? NATIVE_CACHE : kvCacheDtype;
  return { nativeKernels: { kvCacheDtype: dtype }, description: `our own, ${found.instructions}` };
}

/** Why there are none of ours; null where there are. */
function unfitness(circumstances: KernelCircumstances) {
  const { precision, activationDtype, model, device, hears } = circumstances;
  if (device !== 'cpu') return `they are for the CPU, not for ${device}`;
  if (model === 'export') return 'they are for graphs built from safetensors, not for ONNX exports';
  if (hears) return 'they are for decoders, and not for one that attends to an encoder';
  const isQuantized = precision !== 'fp32' && precision !== 'fp16';
  if (isQuantized && activationDtype === 'float32') return null;
  return `they are for int8 and int4, not for ${precision}`;
}

/** Why a checkpoint's own integers need other kernels; null where they do not, or are not kept. */
function otherBlocks({ stored }: KernelCircumstances): string | null {
  if (!stored || stored.isNative) return null;
  // To round 4 bits to 4 again loses much.
  const flag = stored.precision === 'int4' ? '--precision int8' : '--kernels native';
  return `ours have no ${stored.description}; ${flag} is faster, and rounds them again`;
}

function missing(found: FoundKernels): string | null {
  if ('missing' in found) return found.missing;
  return found.isFast ? null : 'ours need AVX2 or dot products of NEON';
}

/** The library, or why there is none. Not a static import: it is for the engine process, but where it is needed. */
export async function findNativeKernels(): Promise<FoundKernels> {
  const { nativeKernels } = await import('../../ort/native-kernels.ts');
  return nativeKernels();
}
