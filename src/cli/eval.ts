import { Presets, SingleBar } from 'cli-progress';
import { Command } from 'commander';
import { join } from 'node:path';
import { z } from 'zod';
import { readEvalFile } from '../eval/eval-file.ts';
import { encodeData, evaluateModel, type PrecisionReport } from '../eval/evaluate-model.ts';
import { reportTable } from '../eval/report.ts';
import { fileExists } from '../model/build/file-exists.ts';
import { PRECISIONS } from '../model/build/manifest.ts';
import { buildWithProgress } from './build-model.ts';
import { UsageError } from './usage-error.ts';
import { type ChosenModel, chooseModel } from './model-source.ts';
import { resolveKernels } from './kernels.ts';
import { addOptions, type OptionName, readOptions } from './options.ts';
import { resolvePrecision } from './precision.ts';
import { loadTextModel } from '../front/text/load-text-model.ts';

const NAMES: readonly OptionName[] = [
  'model',
  'adapter',
  'kvCacheDtype',
  'kernels',
  'maxNumSeqs',
  'threads',
];

/** Evaluation data that comes with a model. */
const OWN_DATA = 'eval.jsonl';

const precisionName = z.enum(PRECISIONS, `expected one of ${PRECISIONS.join(', ')}`);

const ownOptions = z.object({
  precisions: z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .pipe(z.array(precisionName).min(1)),
  data: z.string().min(1).optional(),
  json: z.boolean().default(false),
});

/** `chairlift eval`: what each precision costs in accuracy, and what it gains. */
export function evalCommand(): Command {
  const command = new Command('eval')
    .description('measure perplexity, task accuracy, speed and memory of a model, per precision')
    .option('--precisions <list>', 'what to compare, separated by commas', PRECISIONS.join(','))
    .option(
      '--data <file>',
      `a text, or JSON lines of {"text"} and {"task", "prompt", "answer"} (default: ${OWN_DATA} next to the model)`,
    )
    .option('--json', 'print JSON instead of a table');
  return addOptions(command, NAMES).action(() => evaluatePrecisions(command));
}

async function evaluatePrecisions(command: Command): Promise<void> {
  const own = ownOptions.safeParse(command.opts());
  if (!own.success) throw new UsageError(z.prettifyError(own.error));
  const { kvCacheDtype, kernels, maxNumSeqs, threads, ...options } = readOptions(command);
  const chosen = await chooseModel({ ...options, precision: 'auto' }, async () => null);
  const data = await readEvalFile(own.data.data ?? (await ownData(chosen)));
  const text = {
    ...(await loadTextModel(chosen.text)),
    maxModelLen: chosen.decoder.config.maxPositionEmbeddings,
  };
  const encoded = encodeData(data, text);
  const reports: PrecisionReport[] = [];
  for (const precision of own.data.precisions) {
    const { kind } = chosen.decoder;
    const formats =
      kind === 'buildable'
        ? resolvePrecision(precision, null, chosen.decoder)
        : ({ precision, activationDtype: 'float32' } as const);
    const choice = await resolveKernels(
      { kernels, kvCacheDtype },
      { ...formats, model: kind, device: 'cpu' },
    );
    const model = await buildWithProgress(chosen.source, { precision, ...choice }, kvCacheDtype);
    const bar = progressBar(precision);
    bar.start(encoded.texts.length + encoded.prompts.length, 0);
    try {
      const limits = { maxNumSeqs, threads };
      reports.push(await evaluateModel(model, encoded, text, limits, (done) => bar.update(done)));
    } finally {
      bar.stop();
    }
  }
  console.log(own.data.json ? JSON.stringify(reports, null, 2) : reportTable(reports));
}

async function ownData({ name, text: { folder } }: ChosenModel): Promise<string> {
  const path = join(folder ?? '.', OWN_DATA);
  if (folder !== null && (await fileExists(path))) return path;
  throw new UsageError(`model ${name} comes with no ${OWN_DATA}: give --data`);
}

function progressBar(precision: string): SingleBar {
  return new SingleBar(
    {
      format: `evaluating ${precision.padEnd(4)} |{bar}| {percentage}% {value}/{total}`,
      noTTYOutput: true,
      notTTYSchedule: 5000,
      hideCursor: true,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
}
