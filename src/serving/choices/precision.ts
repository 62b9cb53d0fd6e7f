import type { DecoderConfig } from '../../model/huggingface/config.ts';
import type { StoredPrecision } from '../../model/native/stored-precision.ts';
import type { ExportFolder } from '../../model/export/export-folder.ts';
import { countParameters } from '../../model/huggingface/parameter-count.ts';
import { hasFastInt8 } from '../../ort/cpu-features.ts';
import { hasLibrary } from '../../ort/native-library.ts';
import { type ChosenDevice, gpuOf } from './device.ts';
import { UsageError } from '../../settings/usage-error.ts';
import { resolveExportPrecision } from './export-precision.ts';
import type { Options } from '../../settings/options.ts';
import type { PrecisionChoice } from './precision-choice.ts';

/** A model whose graphs are built in any precision. */
export interface BuildableModel {
  readonly kind: 'buildable';
  readonly config: DecoderConfig;
  readonly stored?: StoredPrecision | null;
}

/**
 * Models smaller than this run in fp32: their steps take a few milliseconds in any precision, and
 * only fp32 computes a lost KV cache again to the same tokens.
 */
const SMALL_MODEL_PARAMETERS = 32e6;

/** Precisions that a CPU is fast with. */
export interface CpuSpeed {
  readonly fastInt8: boolean;
  /** Ours are there, and may be taken. */
  readonly ownKernels: boolean;
}

/** Speed of this machine, with `--kernels`. */
export function cpuSpeed(kernels: Options['kernels']): CpuSpeed {
  return { fastInt8: hasFastInt8(), ownKernels: kernels !== 'onnxruntime' && hasLibrary() };
}

/**
 * Chooses the precision for a model on a device according to `--precision`; the CPU if null.
 * @throws UsageError for a precision that the device has no operators for
 */
export function resolvePrecision(
  option: Options['precision'],
  chosen: Pick<ChosenDevice, 'device' | 'activationDtypes'> | null,
  model: BuildableModel | ExportFolder,
  cpu = cpuSpeed('auto'),
): PrecisionChoice {
  if (model.kind === 'export') return resolveExportPrecision(option, chosen, model);
  const gpu = gpuOf(chosen);
  const choice = gpu === null ? onCpu(option, model, cpu) : onDevice(option, gpu);
  const { stored = null } = model;
  return stored?.precision === choice.precision ? { ...choice, stored } : choice;
}

function onCpu(
  option: Options['precision'],
  model: BuildableModel,
  cpu: CpuSpeed,
): PrecisionChoice {
  return { ...weightsOnCpu(option, model, cpu), activationDtype: 'float32' };
}

function weightsOnCpu(
  option: Options['precision'],
  { config, stored }: BuildableModel,
  { fastInt8, ownKernels }: CpuSpeed,
): Pick<PrecisionChoice, 'precision' | 'reason'> {
  if (option !== 'auto') return { precision: option, reason: null };
  if (countParameters(config) < SMALL_MODEL_PARAMETERS) {
    return {
      precision: 'fp32',
      reason: 'picked for a small model: fast enough, and exact',
    };
  }
  // Measured: offsets take ONNX Runtime 1.7 to 4 times as long as int8, which is as near to them.
  const isSlow = stored?.hasOffsets && fastInt8 && !(stored.isNative && ownKernels);
  if (stored && !isSlow) {
    const { precision, description } = stored;
    return { precision, reason: `kept as the checkpoint has it, ${description}` };
  }
  if (!fastInt8) return { precision: 'fp32', reason: 'picked: this CPU has no fast int8' };
  return { precision: 'int8', reason: 'picked for speed on this CPU' };
}

const ON_DEVICES: ReadonlySet<Options['precision']> = new Set(['auto', 'fp32', 'fp16', 'int4']);

function onDevice(
  option: Options['precision'],
  { device: { name }, activationDtypes }: Pick<ChosenDevice, 'device' | 'activationDtypes'>,
): PrecisionChoice {
  if (!ON_DEVICES.has(option)) {
    throw new UsageError(`--precision ${option} needs a CPU; ${name} takes fp32, fp16 and int4`);
  }
  if (option === 'fp32' && !activationDtypes.includes('float32')) {
    throw new UsageError(`${name} has no attention in --precision fp32; it takes fp16 and int4`);
  }
  if (option !== 'fp32' && activationDtypes.includes('float16')) {
    if (option !== 'auto') return { precision: option, activationDtype: 'float16', reason: null };
    const reason = `the default on ${name}`;
    return { precision: 'fp16', activationDtype: 'float16', reason };
  }
  const reason = option === 'fp32' ? null : `computed in float32: this ${name} has no float16`;
  const precision = option === 'auto' ? 'fp32' : option;
  return { precision, activationDtype: 'float32', reason };
}
