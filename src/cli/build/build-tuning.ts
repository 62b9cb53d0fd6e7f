import { loadavg } from 'node:os';
import { type BuiltModel, NATIVE_KV_CACHE_DTYPES } from '../../model/manifest.ts';
import { usableCores } from '../../ort/usable-cores.ts';
import { autotune, type Tried, tuningStages } from './autotune.ts';
import { buildWithProgress } from '../../serving/loading/build-model.ts';
import { engineLimits } from '../../serving/plan/engine-limits.ts';
import { resolveKernels } from '../../serving/choices/kernels.ts';
import type { ChosenModel } from '../../serving/models/model-source.ts';
import type { Options } from '../../settings/options.ts';
import type { PrecisionChoice } from '../../serving/choices/precision-choice.ts';
import type { CalibrationFile } from '../../serving/plan/static-calibration.ts';
import { table } from '../terminal/text-format.ts';
import { type Settings, writeTuning } from '../../serving/plan/tuning.ts';

/** As `serve` has them. */
const MAX_NUM_SEQS = 32;
const BATCHED_TOKENS = 512;

type Flags = Options<'kernels' | 'kvCacheDtype' | 'maxModelLen' | 'threads'> & {
  readonly calibrate: CalibrationFile | null;
};

/**
 * Measures which settings are fastest for a model on this machine, and keeps them for `serve`.
 * @returns also a table to print
 */
export async function tuneBuild(
  { source, decoder }: ChosenModel,
  built: BuiltModel,
  choice: PrecisionChoice,
  flags: Flags,
): Promise<{ readonly settings: Settings; readonly report: string }> {
  const { config, kind } = decoder;
  const { kvCacheDtype } = flags;
  const [load = 0] = loadavg();
  const isBusy = load > usableCores() / 2;
  const { kernels: own, vocabSize } = built.manifest;
  const builds = new Map<Settings['kernels'], Promise<BuiltModel>>([[own, Promise.resolve(built)]]);
  const buildFor = async (kernels: Settings['kernels']) => {
    const circumstances = { ...choice, model: kind, device: 'cpu' };
    const resolved = await resolveKernels({ kernels, kvCacheDtype }, circumstances);
    const { maxModelLen, calibrate } = flags;
    const formats = { ...choice, ...resolved, maxModelLen, calibrate };
    return buildWithProgress(source, formats, kvCacheDtype);
  };
  const maxModelLen = Math.min(flags.maxModelLen ?? 1024, config.maxPositionEmbeddings, 1024);
  const hasNative =
    own === 'native' && flags.kernels === 'auto' && !NATIVE_KV_CACHE_DTYPES.has(kvCacheDtype);
  const { settings, tried } = await autotune(
    {
      kernels: own,
      threads: flags.threads || usableCores(),
      maxNumBatchedTokens: BATCHED_TOKENS,
    },
    tuningStages(hasNative, flags.threads === 0, maxModelLen),
    async ({ kernels, threads, maxNumBatchedTokens }) => {
      const model = builds.get(kernels) ?? buildFor(kernels);
      builds.set(kernels, model);
      const limits = engineLimits(
        {
          threads,
          maxNumBatchedTokens,
          maxModelLen,
          kvCacheDtype,
          maxNumSeqs: MAX_NUM_SEQS,
          prefixCaching: false,
          kvCacheMemory: undefined,
          targetItlMs: undefined,
          durableKv: false,
        },
        config,
      );
      return { ...limits, model: await model };
    },
    vocabSize,
  );
  const model = { config, precision: built.manifest.precision };
  const path = await writeTuning(model, { settings, date: new Date().toISOString() });
  const report = [
    tunedTable(tried),
    ...(isBusy
      ? [
          'Other programs were running, so this choice may be wrong. Run it again on an idle machine.',
        ]
      : []),
    `saved in ${path}; serve uses these settings where its flags say nothing`,
  ].join('\n');
  return { settings, report };
}

function tunedTable(tried: readonly Tried[]): string {
  const rows = tried.map(({ stage, settings, tokensPerSecond, isPicked }) => [
    stage,
    settings.kernels,
    String(settings.threads),
    String(settings.maxNumBatchedTokens),
    tokensPerSecond.toFixed(0),
    isPicked ? 'picked' : '',
  ]);
  return table(['MEASURED', 'KERNELS', 'THREADS', 'TOKENS A STEP', 'TOKENS/S', ''], rows);
}
