import { isAbsolute, relative } from 'node:path';
import {
  type ExportFolder,
  type ExportVariant,
  variantKey,
} from '../../model/export/export-folder.ts';
import type { ActivationDtype } from '../../model/manifest.ts';
import { type ChosenDevice, gpuOf } from './device.ts';
import { UsageError } from '../../settings/usage-error.ts';
import type { Options } from '../../settings/options.ts';
import type { PrecisionChoice } from './precision-choice.ts';

/** Float32 weights of a model that is small, see resolvePrecision. */
const SMALL_EXPORT_BYTES = 128e6;

/** Graphs that `auto` prefers, in this order. */
const ON_CPU = ['int4 float32', 'int8 float32', 'fp32 float32', 'int4 float16', 'fp16 float16'];
const ON_HALF_DEVICE = ['fp16 float16', 'int4 float16', 'fp32 float32', 'int4 float32'];
const ON_FLOAT_DEVICE = ['fp32 float32', 'int4 float32'];

/** The CPU if null. */
type RunningOn = Pick<ChosenDevice, 'device' | 'activationDtypes'> | null;

type Variants = Pick<ExportFolder, 'path' | 'variants'>;

/**
 * Chooses one of an export's graphs according to `--precision`.
 * @throws UsageError when it has none of that precision which the device can run, saying what it has
 */
export function resolveExportPrecision(
  option: Options['precision'],
  chosen: RunningOn,
  folder: Variants,
): PrecisionChoice {
  const { file, precision, activationDtype } = pickVariant(option, chosen, folder);
  const isSlow = isCpu(chosen) && activationDtype === 'float16';
  const reasons = [
    ...(option === 'auto' ? [`picked ${relative(folder.path, file)}`] : []),
    ...(isSlow ? ['computes in float16, which CPUs do slowly'] : []),
  ];
  return { precision, activationDtype, reason: reasons.join('; ') || null };
}

/** The graph that resolveExportPrecision chooses. */
export function pickVariant(
  option: Options['precision'],
  chosen: RunningOn,
  { path, variants }: Variants,
): ExportVariant {
  const runnable = orderFor(chosen).flatMap(
    (wanted) => variants.find((variant) => variantKey(variant) === wanted) ?? [],
  );
  const variant =
    option === 'auto'
      ? (runnable.find((each) => isCpu(chosen) && isSmall(each)) ?? runnable[0])
      : runnable.find(({ precision }) => precision === option);
  if (variant) return variant;
  // Names of files that are not downloaded yet are relative already.
  const nameOf = (file: string) => (isAbsolute(file) ? relative(path, file) : file);
  const found = variants.map(
    (each) => `${nameOf(each.file)} (${variantKey(each).replace(' ', ', ')})`,
  );
  const what = option === 'auto' ? 'graph' : `graph in ${option}`;
  const where = chosen?.device.name ?? 'cpu';
  throw new UsageError(`${path} has no ${what} for ${where}, only ${found.join('; ')}`);
}

function isCpu(chosen: RunningOn): boolean {
  return gpuOf(chosen) === null;
}

function orderFor(chosen: RunningOn): string[] {
  const gpu = gpuOf(chosen);
  if (gpu === null) return ON_CPU;
  const has = (type: ActivationDtype) => gpu.activationDtypes.includes(type);
  const order = has('float16') ? ON_HALF_DEVICE : ON_FLOAT_DEVICE;
  return has('float32') ? order : order.filter((each) => each.endsWith('float16'));
}

function isSmall({ precision, bytes }: ExportVariant): boolean {
  return precision === 'fp32' && bytes < SMALL_EXPORT_BYTES;
}
