/** `chairlift fit`: what memory a model takes on this machine, and how many texts fit beside it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { cachedFolder } from '../../model/download/remote-model.ts';
import { isRemote, remoteOf } from '../../model/remotes/remotes.ts';
import { countParameters } from '../../model/huggingface/parameter-count.ts';
import { PRECISIONS, type Precision } from '../../model/manifest.ts';
import { ModelError } from '../../model/model-error.ts';
import { requirePlainLayers } from '../../optimize/folder/checkpoint.ts';
import { resolveKernels } from '../../serving/choices/kernels.ts';
import { cpuSpeed, resolvePrecision } from '../../serving/choices/precision.ts';
import { freeMemory } from '../../ort/free-memory.ts';
import { downloadConfig } from '../../serving/models/download-model.ts';
import { findServable } from '../../serving/models/find-model.ts';
import { defaultModel } from '../../serving/models/model-source.ts';
import { allWeightBytes, kvCacheBytes, serverBytes } from '../../serving/plan/memory.ts';
import { type ModelPlan, planModel } from '../../serving/plan/model-plan.ts';
import type { Settings } from '../../settings/settings.ts';
import { UsageError } from '../../settings/usage-error.ts';
import { UserError } from '../../user-error.ts';
import { formatBytes, formatCount, table } from '../terminal/text-format.ts';

type FitOptions = Settings<'fit'>['options'];

/** Memory in a precision, in bytes. */
interface Need {
  readonly precision: Precision;
  readonly weights: number;
  /** KV cache of a text of the longest length. */
  readonly perText: number;
}

/** @throws UserError where what `serve` would take does not fit; as `describeFit` */
export async function fit({ options }: Settings<'fit'>): Promise<void> {
  const { report, problem } = await describeFit(options);
  console.log(report);
  if (problem !== null) throw new UserError(problem);
}

interface FitReport {
  readonly report: string;
  /** Why what `serve` would take does not fit; null where it does. */
  readonly problem: string | null;
}

/**
 * Reads the model's files, and builds nothing. Of a model that has not been downloaded, its config.json is.
 * @throws UserError for what says too little; UsageError, ModelError
 */
export async function describeFit(options: FitOptions): Promise<FitReport> {
  const { model = defaultModel(options.randomWeights !== undefined) } = options;
  const { source } = await findServable(model, options);
  if (!isRemote(source)) return await describe(source, options);
  const remote = remoteOf(source);
  const downloaded = await cachedFolder(remote, defaultCacheDirectory());
  if (downloaded !== null) return await describe(downloaded, options);
  const folder = await mkdtemp(join(tmpdir(), 'chairlift-fit-'));
  try {
    const config = await downloadConfig(remote, folder);
    return await describe(config, { ...options, randomWeights: 1 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function describe(source: string, options: FitOptions): Promise<FitReport> {
  const plan = await planModel({ source, flags: {} }, options, 1);
  const { decoder } = plan.chosen;
  const chosen = needOf(plan);
  if (decoder.kind === 'export' || chosen === null) {
    throw new UserError('an ONNX export says what it takes once it is loaded: see `serve`');
  }
  const { maxModelLen, maxNumSeqs, kvCacheMemory } = plan.limits;
  const free = plan.chosenDevice.memoryBytes ?? freeMemory();
  const server = serverBytes(decoder.config);
  const atOnce = ({ weights, perText }: Need): number =>
    Math.max(0, Math.floor((free - server - weights) / perText));
  const { family } = decoder.config;
  const head = [
    ['model', `${family.modelType}, ${formatCount(countParameters(decoder.config))} parameters`],
    ['texts', `of up to ${maxModelLen} tokens`],
    ['memory', `${formatBytes(free)} free; a server without a model takes ${formatBytes(server)}`],
  ].map(([label = '', value = '']) => `  ${label.padEnd(10)} ${value}`);
  const rows = (await needsOf(plan, options)).map((need) => [
    need.precision === chosen.precision ? `${need.precision} *` : need.precision,
    formatBytes(need.weights),
    formatBytes(need.perText),
    atOnce(need) === 0 ? 'does not fit' : String(atOnce(need)),
  ]);
  const needs = table(['PRECISION', 'WEIGHTS', 'KV CACHE OF A TEXT', 'TEXTS AT ONCE'], rows);
  const atFull = Math.min(maxNumSeqs, Math.floor(kvCacheMemory / chosen.perText));
  const serving =
    `* as \`serve\` takes it: --max-num-seqs ${maxNumSeqs}, of which ${atFull} can have their full length ` +
    `at once in a KV cache of ${formatBytes(kvCacheMemory)}`;
  const problem = atOnce(chosen) === 0 ? refusal(chosen, server, free) : null;
  return { report: [...head, '', needs, serving].join('\n'), problem };
}

/** In each precision that the model can have here. */
async function needsOf(plan: ModelPlan, options: FitOptions): Promise<readonly Need[]> {
  const { chosen, chosenDevice } = plan;
  const needs: Need[] = [];
  for (const precision of PRECISIONS) {
    try {
      if (precision === 'int8-static' && chosen.decoder.kind !== 'export') {
        requirePlainLayers(chosen.decoder.config, precision);
      }
      const choice = resolvePrecision(
        precision,
        chosenDevice,
        chosen.decoder,
        cpuSpeed(options.kernels),
      );
      const kernels = await resolveKernels(options, {
        ...choice,
        model: chosen.decoder.kind,
        device: chosenDevice.device.name,
      });
      const need = needOf({ ...plan, choice, kernels });
      if (need !== null) needs.push(need);
    } catch (error) {
      // Such as one that takes another device, or other layers.
      if (!(error instanceof UsageError) && !(error instanceof ModelError)) throw error;
    }
  }
  return needs;
}

/** Null of an export. */
function needOf(plan: ModelPlan): Need | null {
  const perText = kvCacheBytes(plan, plan.limits.maxModelLen);
  if (perText === null) return null;
  return { precision: plan.choice.precision, weights: allWeightBytes(plan), perText };
}

/** @param server bytes of one without a model */
function refusal({ precision, weights, perText }: Need, server: number, free: number): string {
  const taken = formatBytes(server + weights + perText);
  return (
    `${precision} does not fit: with one text it takes ${taken}, and ${formatBytes(free)} are free: ` +
    'lower --max-model-len, or take a smaller --precision'
  );
}
