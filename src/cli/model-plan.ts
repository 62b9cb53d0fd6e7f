/** What a model runs as, decided before anything of it is built. */
import type { ModelDefinition } from '../front/registry/model-definition.ts';
import { resolveAttention } from './attention.ts';
import { type ChosenDevice, chooseDevice, gpuOf } from './device.ts';
import { type EngineLimits, engineLimits } from './engine-limits.ts';
import { ENGINE_FLAGS } from './flags/engine-flags.ts';
import { MODEL_FLAGS } from './flags/model-flags.ts';
import { REQUEST_FLAGS } from './flags/request-flags.ts';
import { type KernelChoice, resolveKernels } from './kernels.ts';
import { hasLora, requireLora } from './lora.ts';
import { type ChosenModel, chooseModel } from './model-source.ts';
import { type OptionName, type Options, readFlags } from './options.ts';
import { cpuSpeed, resolvePrecision } from './precision.ts';
import type { PrecisionChoice } from './precision-choice.ts';
import { type CalibrationFile, calibrationFile } from './static-calibration.ts';
import { readTuning, type Tuning, withTuning } from './tuning.ts';

/** A flag that is the server's, or that a definition says in its own words. */
const NOT_OF_A_MODEL: readonly OptionName[] = [
  'model',
  'servedModelName',
  'sharePrefixCache',
  'priorityRange',
  'slo',
  'requestTimeout',
  'responseStoreSize',
  'loraModules',
  'loraDir',
];
/** Flags that a model of a repository may have of its own. */
const OWN_FLAGS = (
  Object.keys({ ...MODEL_FLAGS, ...ENGINE_FLAGS, ...REQUEST_FLAGS }) as OptionName[]
).filter((name) => !NOT_OF_A_MODEL.includes(name));

export interface ModelPlan {
  readonly options: Options;
  readonly chosen: ChosenModel;
  readonly chosenDevice: ChosenDevice;
  readonly limits: EngineLimits;
  readonly choice: PrecisionChoice;
  readonly kernels: KernelChoice;
  readonly calibrate: CalibrationFile | null;
  readonly attention: 'slots' | 'paged';
  /** What was measured on this machine and taken where flags leave it open; null where nothing was. */
  readonly tuning: Tuning | null;
}

/**
 * @param server flags of the command line
 * @param numModels that share the memory
 * @throws UsageError, ModelError
 */
export async function planModel(
  { source, flags }: ModelDefinition,
  server: Options,
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
