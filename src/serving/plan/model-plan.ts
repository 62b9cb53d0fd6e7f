/** Plan of how a model runs, decided before anything of it is built. */
import type { ModelDefinition } from '../../front/registry/model-definition.ts';
import { resolveAttention } from './attention.ts';
import { type ChosenDevice, chooseDevice, gpuOf } from '../choices/device.ts';
import { type EngineLimits, engineLimits } from './engine-limits.ts';
import { allWeightBytes } from './memory.ts';
import { LOADING, type LoadingOption } from '../../settings/flag-sets.ts';
import { type KernelChoice, resolveKernels } from '../choices/kernels.ts';
import { type LoraNeed, takesLora } from './lora.ts';
import { type ChosenModel, chooseModel } from '../models/model-source.ts';
import { type Options, readFlags } from '../../settings/options.ts';
import { cpuSpeed, resolvePrecision } from '../choices/precision.ts';
import type { PrecisionChoice } from '../choices/precision-choice.ts';
import { requireHearing } from './speech.ts';
import { type CalibrationFile, calibrationFile } from './static-calibration.ts';
import { usableTier } from './prefix-folder.ts';
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
  /** Whether requests can pick LoRA adapters. */
  readonly takesLora: boolean;
  /** Flags that are left out, and why. */
  readonly warnings: readonly string[];
}

/**
 * @param server flags of the command line
 * @param numModels that share the memory
 * @param need whether it has LoRA adapters that requests pick
 * @throws UsageError, ModelError
 */
export async function planModel(
  { source, flags }: Pick<ModelDefinition, 'source' | 'flags'>,
  server: Options<LoadingOption>,
  numModels: number,
  need: LoraNeed = 'none',
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
  const hears = kind === 'buildable' && config.crossPositions !== undefined;
  const kernels = await resolveKernels(options, {
    ...choice,
    model: kind,
    hears,
    device: chosenDevice.device.name,
  });
  const asked = engineLimits(options, config, chosenDevice, {
    numModels,
    weightBytes: allWeightBytes({ chosen, choice, kernels, options }),
  });
  const { prefixTier, warning } = await usableTier(asked.prefixTier ?? null);
  const limits = { ...asked, prefixTier };
  const attention = resolveAttention(options.attention, chosenDevice, choice.activationDtype, kind);
  if (hears) requireHearing(options);
  const calibrate = calibrationFile(given.calibrate, [precision], chosen.text);
  const warnings = warning === null ? [] : [warning];
  const how = { limits, choice, kernels, calibrate, attention, tuning, warnings };
  const withLora = takesLora(need, kind, chosenDevice, precision, hears);
  return { options, chosen, chosenDevice, takesLora: withLora, ...how };
}
