/** Plan of how a model runs, decided before anything of it is built. */
import type { ModelDefinition } from '../../front/registry/model-definition.ts';
import type { Precision } from '../../model/manifest.ts';
import { countParameters } from '../../model/huggingface/parameter-count.ts';
import { resolveAttention } from './attention.ts';
import { type ChosenDevice, chooseDevice, gpuOf } from '../choices/device.ts';
import { type EngineLimits, engineLimits } from './engine-limits.ts';
import { LOADING, type LoadingOption } from '../../settings/flag-sets.ts';
import { type KernelChoice, resolveKernels } from '../choices/kernels.ts';
import { hasLora, requireLora } from './lora.ts';
import { type ChosenModel, chooseModel } from '../models/model-source.ts';
import { type Options, readFlags } from '../../settings/options.ts';
import { cpuSpeed, resolvePrecision } from '../choices/precision.ts';
import type { PrecisionChoice } from '../choices/precision-choice.ts';
import { type CalibrationFile, calibrationFile } from './static-calibration.ts';
import { readTuning, type Tuning, withTuning } from './tuning.ts';

/** A flag that is the server's, or that a definition says in its own words. */
const NOT_OF_A_MODEL: readonly LoadingOption[] = [
  'sharePrefixCache',
  'priorityRange',
  'slo',
  'requestTimeout',
  'responseStoreSize',
  'batchDir',
  'batchDisk',
  'prefetch',
  'modelRepository',
  'loraModules',
  'loraDir',
];
/** Flags that a model of a repository may have of its own. */
const OWN_FLAGS = LOADING.filter((name) => !NOT_OF_A_MODEL.includes(name));

/** Bytes of a weight in a build; a scale for each block or channel is not counted. */
export const BYTES_PER_WEIGHT: Readonly<Record<Precision, number>> = {
  fp32: 4,
  fp16: 2,
  int8: 1,
  'int8-blocks': 1.06,
  'int8-static': 1,
  'int4-mixed': 0.65,
  int4: 0.5,
};

export interface ModelPlan {
  readonly options: Options<LoadingOption>;
  readonly chosen: ChosenModel;
  readonly chosenDevice: ChosenDevice;
  readonly limits: EngineLimits;
  readonly choice: PrecisionChoice;
  readonly kernels: KernelChoice;
  readonly calibrate: CalibrationFile | null;
  readonly attention: 'slots' | 'paged';
  /** Settings measured on this machine, used where flags set none; null if nothing was measured. */
  readonly tuning: Tuning | null;
}

/** Memory of the weights, before anything of them is built; 0 where only an export's files say it. */
export function weightBytes({ chosen, choice }: Pick<ModelPlan, 'chosen' | 'choice'>): number {
  const { decoder } = chosen;
  const numParameters = decoder.kind === 'buildable' ? countParameters(decoder.config) : 0;
  return numParameters * BYTES_PER_WEIGHT[choice.precision];
}

/**
 * @param server flags of the command line
 * @param numModels that share the memory
 * @throws UsageError, ModelError
 */
export async function planModel(
  { source, flags }: ModelDefinition,
  server: Options<LoadingOption>,
  numModels: number,
): Promise<ModelPlan> {
  const given = { ...server, ...readFlags(flags, OWN_FLAGS), model: source };
  const chosen = await chooseModel(given, (config) => chooseDevice(given, config));
  const { config, kind } = chosen.decoder;
  const chosenDevice = await chooseDevice(given, config);
  const choice = resolvePrecision(
    given.precision,
    chosenDevice,
    chosen.decoder,
    cpuSpeed(given.kernels),
  );
  const { precision } = choice;
  const tuning = gpuOf(chosenDevice) ? null : await readTuning({ config, precision });
  const options = withTuning(given, tuning);
  const limits = engineLimits(options, config, chosenDevice, numModels);
  const attention = resolveAttention(options.attention, chosenDevice, choice.activationDtype, kind);
  if (hasLora(options)) requireLora(kind, chosenDevice, precision);
  const calibrate = calibrationFile(given.calibrate, [precision], chosen.text);
  const kernels = await resolveKernels(options, {
    ...choice,
    model: kind,
    device: chosenDevice.device.name,
  });
  return { options, chosen, chosenDevice, limits, choice, kernels, calibrate, attention, tuning };
}
