import { readEvalFile } from '../../eval/eval-file.ts';
import { encodeData, evaluateModel, type PrecisionReport } from '../../eval/evaluate-model.ts';
import { reportTable } from '../../eval/report.ts';
import { buildWithProgress } from '../../serving/loading/build-model.ts';
import { interruptible } from '../terminal/interruptible.ts';
import { progressBar } from '../../serving/progress/progress-bar.ts';
import { UsageError } from '../../settings/usage-error.ts';
import type { OptionOf } from '../../settings/commands.ts';
import { compareVariants } from './compare.ts';
import { ownData } from './eval-data.ts';
import { nameOf } from '../../settings/flags/flag-spec.ts';
import { chooseModel } from '../../serving/models/model-source.ts';
import { resolveKernels } from '../../serving/choices/kernels.ts';
import { type Options, specOf } from '../../settings/options.ts';
import { cpuSpeed, resolvePrecision } from '../../serving/choices/precision.ts';
import { loadTextModel } from '../../front/prompts/load-text-model.ts';
import type { Settings } from '../../settings/settings.ts';
import { calibrationFile } from '../../serving/plan/static-calibration.ts';

/** Flags that mean nothing without `--compare`, and flags that mean nothing with it. */
const OF_COMPARE = ['evalRounds', 'row', 'machine', 'html', 'saveResult'] as const;
const NOT_OF_COMPARE = ['precisions', 'model', 'maxNumSeqs', 'calibrate'] as const;

/** `chairlift eval`: what each precision costs in accuracy, and what it gains. */
export async function evaluate(settings: Settings<'eval'>): Promise<void> {
  const { options } = settings;
  const { compareVariants: compare } = options;
  const wrong = (compare ? NOT_OF_COMPARE : OF_COMPARE).find(
    (name) => settings.sourceOf(name) === 'flag',
  );
  if (wrong !== undefined) {
    const flag = `--${nameOf(specOf(wrong))}`;
    throw new UsageError(
      compare ? `${flag} does not go with --compare` : `${flag} is for --compare`,
    );
  }
  if (compare) await compareVariants({ ...options, compare, rounds: options.evalRounds }, options);
  else await evaluatePrecisions(options);
}

async function evaluatePrecisions(options: Options<OptionOf<'eval'>>): Promise<void> {
  const { kvCacheDtype, kernels, maxNumSeqs, threads, calibrate, precisions } = options;
  const chosen = await chooseModel(
    { ...options, randomWeights: undefined, precision: 'auto' },
    async () => null,
  );
  const data = await readEvalFile(options.data ?? (await ownData(chosen)));
  const text = {
    ...(await loadTextModel(chosen.text)),
    maxModelLen: chosen.decoder.config.maxPositionEmbeddings,
  };
  const encoded = encodeData(data, text);
  const texts = calibrationFile(calibrate, precisions, chosen.text);
  const reports: PrecisionReport[] = [];
  const print = () =>
    console.log(options.json ? JSON.stringify(reports, null, 2) : reportTable(reports));
  const measureAll = async () => {
    for (const precision of precisions) {
      const { kind } = chosen.decoder;
      const formats =
        kind === 'buildable'
          ? resolvePrecision(precision, null, chosen.decoder, cpuSpeed(kernels))
          : ({ precision, activationDtype: 'float32' } as const);
      const choice = await resolveKernels(
        { kernels, kvCacheDtype },
        { ...formats, model: kind, device: 'cpu' },
      );
      const model = await buildWithProgress(
        chosen.source,
        { precision, ...choice, calibrate: texts },
        kvCacheDtype,
      );
      const bar = progressBar(
        `evaluating ${precision.padEnd(11)} |{bar}| {percentage}% {value}/{total}`,
      );
      bar.start(encoded.texts.length + encoded.prompts.length, 0);
      try {
        const limits = { maxNumSeqs, threads };
        reports.push(await evaluateModel(model, encoded, text, limits, (done) => bar.update(done)));
      } finally {
        bar.stop();
      }
    }
  };
  await interruptible(measureAll, () => {
    if (reports.length > 0) print();
    const left = precisions.slice(reports.length).join(', ');
    console.error(`chairlift: interrupted before ${left} was measured`);
  });
  print();
}
