import { Command } from 'commander';
import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { usableCores } from '../engine/cpu/usable-cores.ts';
import { fileExists } from '../model/build/file-exists.ts';
import { defaultCacheDirectory } from '../model/build/cache-directory.ts';
import { contentHash, sha256 } from '../model/build/content-hash.ts';
import { inspectModelFolder } from '../model/huggingface/model-folder.ts';
import { WorkFolder } from '../optimize/folder/work-folder.ts';
import type { OptimizationReport } from '../optimize/optimize.ts';
import type { GivenTexts } from '../optimize/plan.ts';
import { readTokens } from './calibration-texts.ts';
import { OWN_DATA } from './eval-data.ts';
import { type ChosenModel, chooseModel } from './model-source.ts';
import { StepFlags } from './optimize-steps.ts';
import { addOptions, readOptions } from './options.ts';
import { withStepBars } from './progress-bar.ts';
import { formatCount, table } from './text-format.ts';
import { UsageError } from './usage-error.ts';

const NAMES = ['model', 'randomWeights', 'threads'] as const;

const ownOptions = z.object({
  out: z.string().min(1),
  calibrate: z.string().min(1).optional(),
  evaluate: z.string().min(1).optional(),
  tokens: z.coerce.number().pipe(z.int().min(256).max(1_048_576)),
  seed: z.coerce.number().pipe(
    z
      .int()
      .min(0)
      .max(2 ** 31),
  ),
});
type OwnOptions = z.output<typeof ownOptions>;

/** `chairlift optimize`: a smaller model out of a model, as a folder. */
export function optimizeCommand(): Command {
  const command = new Command('optimize')
    .description(
      'make a smaller model: prune, make sparse and round, step by step in the order of the flags',
    )
    .requiredOption('--out <folder>', 'where the new model goes; there must be nothing yet')
    .option(
      '--calibrate <file>',
      'texts to calibrate with, a text or JSON lines of {"text"} (default: the model writes its own)',
    )
    .option(
      '--evaluate <file>',
      `likewise, to measure perplexity with (default: ${OWN_DATA} next to the model, else its own)`,
    )
    .option('--tokens <n>', 'of these texts, that are used', '16384')
    .option('--seed <n>', 'of the texts that are written or picked', '0');
  const steps = new StepFlags();
  steps.addTo(command);
  return addOptions(command, NAMES).action(() => optimize(command, steps));
}

async function optimize(command: Command, flags: StepFlags): Promise<void> {
  const own = ownOptions.safeParse(command.opts());
  if (!own.success) throw new UsageError(z.prettifyError(own.error));
  const options = readOptions<(typeof NAMES)[number]>(command);
  const steps = flags.steps();
  const result = resolve(own.data.out);
  await requireNothing(result);
  const chosen = await chooseModel({ ...options, precision: 'auto' }, async () => null);
  const { tokens: numTokens, seed } = own.data;
  // Not a static import: it brings ONNX Runtime into a process that otherwise does without.
  const { optimizeModel } = await import('../optimize/optimize.ts');
  const report = await withStepBars((onProgress) =>
    runPlan(chosen, own.data, (texts) =>
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
        onProgress,
      ),
    ),
  );
  console.log(summary(report));
  console.log(result);
}

interface PlanTexts {
  readonly identity: string;
  readonly calibration: GivenTexts | null;
  readonly evaluation: GivenTexts | null;
}

async function runPlan<R>(
  chosen: ChosenModel,
  { calibrate, evaluate }: OwnOptions,
  run: (texts: PlanTexts) => Promise<R>,
): Promise<R> {
  const ownData = join(chosen.text.folder ?? '.', OWN_DATA);
  const hasOwn = chosen.text.folder !== null && (await fileExists(ownData));
  const evaluation = evaluate ?? (hasOwn ? ownData : undefined);
  return run({
    identity: await identityOf(chosen),
    calibration: calibrate === undefined ? null : await readTexts(chosen, calibrate),
    evaluation: evaluation === undefined ? null : await readTexts(chosen, evaluation),
  });
}

async function requireNothing(result: string): Promise<void> {
  const names = await readdir(result).catch(() => null);
  if (names === null && !(await fileExists(result))) return;
  await WorkFolder.removeLeftover(result);
  throw new UsageError(`--out ${result} is there already: name another folder, or remove it`);
}

async function identityOf({ source }: ChosenModel): Promise<string> {
  if (source.kind === 'random') return `random ${source.seed}`;
  const folder = await inspectModelFolder(source.path);
  const files = folder.kind === 'export' ? [] : folder.weightFiles;
  const index = join(defaultCacheDirectory(), 'content-hashes');
  const hashes = await Promise.all(files.map((file) => contentHash(file, index)));
  return hashes.length === 1 ? (hashes[0] ?? '') : sha256(hashes.join(' '));
}

async function readTexts({ text }: ChosenModel, path: string): Promise<GivenTexts> {
  return { from: basename(path), texts: await readTokens(text, path) };
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
