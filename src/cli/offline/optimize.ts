import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { usableCores } from '../../ort/usable-cores.ts';
import { fileExists } from '../../files/file-exists.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { contentHash, sha256 } from '../../model/cache/content-hash.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { naming } from '../../files/named-files.ts';
import { inspectModelFolder } from '../../model/folder/model-folder.ts';
import { WorkFolder } from '../../optimize/folder/work-folder.ts';
import type { OnProgress, OptimizationReport } from '../../optimize/optimize.ts';
import type { GivenTexts } from '../../optimize/plan.ts';
import { readTokens } from '../../serving/plan/calibration-texts.ts';
import { OWN_DATA } from './eval-data.ts';
import type { OptionOf } from '../../settings/commands.ts';
import { type ChosenModel, chooseModel } from '../../serving/models/model-source.ts';
import { STEP_NAMES, stepsOf } from './optimize-steps.ts';
import type { Options } from '../../settings/options.ts';
import { withStepBars } from '../../serving/progress/progress-bar.ts';
import type { Settings } from '../../settings/settings.ts';
import { UserError } from '../../user-error.ts';
import { formatCount, table } from '../terminal/text-format.ts';

type OptimizeOptions = Options<OptionOf<'optimize'>>;

/** `chairlift optimize`: a smaller model out of a model, as a folder. */
export async function optimize(settings: Settings<'optimize'>): Promise<void> {
  const { options } = settings;
  const steps = stepsOf(settings.inOrder(STEP_NAMES));
  const result = resolve(options.smaller);
  await requireNothing(result);
  const chosen = await chooseModel({ ...options, precision: 'auto' }, async () => null);
  const { tokens: numTokens, fixedSeed: seed } = options;
  // Not a static import: it brings ONNX Runtime into a process that otherwise does without.
  const { optimizeModel } = await import('../../optimize/optimize.ts');
  const report = await withStepBars((onProgress) =>
    runPlan(chosen, options, (texts) =>
      naming('--out', result, () =>
        optimizeModel(
          {
            source: chosen.source,
            identity: texts.identity,
            textFolder: chosen.text.folder,
            steps,
            seed,
            calibration: texts.calibration,
            evaluation: texts.evaluation,
            numTokens,
            threads: options.threads || usableCores(),
          },
          result,
          afterHint(result, onProgress),
        ),
      ),
    ),
  );
  console.log(summary(report));
  console.log(result);
}

/** Says how to go on, before the first progress: later a signal would have to wait for what is computed. */
function afterHint(result: string, onProgress: OnProgress): OnProgress {
  let isSaid = false;
  return (...progress) => {
    const work = WorkFolder.pathFor(result);
    if (!isSaid) {
      console.error(
        `chairlift: works in ${work}; if interrupted, the same command goes on from there`,
      );
    }
    isSaid = true;
    onProgress(...progress);
  };
}

interface PlanTexts {
  readonly identity: string;
  readonly calibration: GivenTexts | null;
  readonly evaluation: GivenTexts | null;
}

async function runPlan<R>(
  chosen: ChosenModel,
  { calibrate, evaluate }: OptimizeOptions,
  run: (texts: PlanTexts) => Promise<R>,
): Promise<R> {
  const ownData = join(chosen.text.folder ?? '.', OWN_DATA);
  const hasOwn = chosen.text.folder !== null && (await fileExists(ownData));
  const evaluation = evaluate ?? (hasOwn ? ownData : undefined);
  return run({
    identity: await identityOf(chosen),
    calibration: calibrate === undefined ? null : await readTexts(chosen, '--calibrate', calibrate),
    evaluation: evaluation === undefined ? null : await readTexts(chosen, '--evaluate', evaluation),
  });
}

async function requireNothing(result: string): Promise<void> {
  const names = await readdir(result).catch(() => null);
  if (names === null && !(await fileExists(result))) {
    await naming('--out', result, () => makeFolder(dirname(result)));
    return;
  }
  await WorkFolder.removeLeftover(result);
  throw new UserError(`--out ${result} is there already: name another folder, or remove it`);
}

async function identityOf({ source }: ChosenModel): Promise<string> {
  if (source.kind === 'random') return `random ${source.seed}`;
  const folder = await inspectModelFolder(source.path);
  const files = folder.kind === 'export' ? [] : folder.weightFiles;
  const index = join(defaultCacheDirectory(), 'content-hashes');
  const hashes = await Promise.all(files.map((file) => contentHash(file, index)));
  return hashes.length === 1 ? (hashes[0] ?? '') : sha256(hashes.join(' '));
}

async function readTexts({ text }: ChosenModel, flag: string, path: string): Promise<GivenTexts> {
  return { from: basename(path), texts: await readTokens(text, flag, path) };
}

function summary({ before, after, evaluation }: OptimizationReport): string {
  const row = (title: string, of: (measures: OptimizationReport['before']) => string) => [
    title,
    of(before),
    of(after),
  ];
  return table(
    ['', 'BEFORE', 'AFTER'],
    [
      row('parameters', ({ parameters }) => formatCount(parameters)),
      row("zeros in the layers' matrices", ({ zeros }) => `${(100 * zeros).toFixed(1)} %`),
      row(`perplexity (${evaluation.tokens} tokens of ${evaluation.from})`, ({ perplexity }) =>
        perplexity.toFixed(4),
      ),
    ],
  );
}
