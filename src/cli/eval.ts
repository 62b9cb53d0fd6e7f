import { Presets, SingleBar } from 'cli-progress';
import { Command } from 'commander';
import { z } from 'zod';
import { readEvalFile } from '../eval/eval-file.ts';
import { encodeData, evaluateModel, type PrecisionReport } from '../eval/evaluate-model.ts';
import { reportTable } from '../eval/report.ts';
import { PRECISIONS } from '../model/build/manifest.ts';
import { buildWithProgress } from './build-model.ts';
import { UsageError } from './usage-error.ts';
import { count } from './flags/values.ts';
import { compareVariants } from './compare.ts';
import { OWN_DATA, ownData } from './eval-data.ts';
import { chooseModel } from './model-source.ts';
import { resolveKernels } from './kernels.ts';
import { addOptions, type OptionName, readOptions } from './options.ts';
import { cpuSpeed, resolvePrecision } from './precision.ts';
import { loadTextModel } from '../front/text/load-text-model.ts';
import { calibrationFile } from './static-calibration.ts';

const NAMES: readonly OptionName[] = [
  'model',
  'adapter',
  'calibrate',
  'kvCacheDtype',
  'kernels',
  'maxNumSeqs',
  'threads',
];

const precisionName = z.enum(PRECISIONS, `expected one of ${PRECISIONS.join(', ')}`);

const ownOptions = z.object({
  precisions: z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .pipe(z.array(precisionName).min(1)),
  data: z.string().min(1).optional(),
  json: z.boolean().default(false),
  compare: z.array(z.string().min(1)).min(1).optional(),
  rounds: count(1),
  row: z.array(z.string().min(1)).default([]),
  machine: z.string().min(1).optional(),
  html: z.string().min(1).optional(),
  saveResult: z.string().min(1).optional(),
});

/** What says nothing without `--compare`, and the other way round. */
const OF_COMPARE = ['rounds', 'row', 'machine', 'html', 'saveResult'];
const NOT_OF_COMPARE = ['precisions', 'model', 'maxNumSeqs', 'calibrate'];

/** Those that every model can be built in. */
const PLAIN_PRECISIONS = PRECISIONS.filter((name) => name !== 'int8-static');

/** `chairlift eval`: what each precision costs in accuracy, and what it gains. */
export function evalCommand(): Command {
  const command = new Command('eval')
    .description('measure perplexity, task accuracy, speed and memory of a model, per precision')
    .option(
      '--precisions <list>',
      `what to compare, of ${PRECISIONS.join(', ')}, separated by commas`,
      PLAIN_PRECISIONS.join(','),
    )
    .option(
      '--data <file>',
      `a text, or JSON lines of {"text"} and {"task", "prompt", "answer"} (default: ${OWN_DATA} next to the model)`,
    )
    .option('--json', 'print JSON instead of a table')
    .option(
      '--compare <variants...>',
      'MODEL or MODEL:precision, each a row: request latency, requests/s, tokens/s, memory, size, accuracy',
    )
    .option('--rounds <n>', 'with --compare: times that each variant is measured, in turns', '3')
    .option('--row <files...>', 'with --compare: saved results of other machines to show beside')
    .option(
      '--machine <name>',
      'with --compare: what to call this machine (default: its processor)',
    )
    .option('--html <file>', 'with --compare: write a report with plots')
    .option('--save-result <file>', 'with --compare: write all figures as JSON');
  return addOptions(command, NAMES).action(() => evaluate(command));
}

async function evaluate(command: Command): Promise<void> {
  const own = ownOptions.safeParse(command.opts());
  if (!own.success) throw new UsageError(z.prettifyError(own.error));
  const { compare } = own.data;
  const isGiven = (name: string) => command.getOptionValueSource(name) === 'cli';
  const wrong = (compare ? NOT_OF_COMPARE : OF_COMPARE).find(isGiven);
  if (wrong !== undefined) {
    const flag = `--${wrong.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw new UsageError(
      compare ? `${flag} does not go with --compare` : `${flag} is for --compare`,
    );
  }
  if (compare) return compareVariants({ ...own.data, compare }, readOptions(command));
  return evaluatePrecisions(own.data, command);
}

async function evaluatePrecisions(
  own: z.output<typeof ownOptions>,
  command: Command,
): Promise<void> {
  const { kvCacheDtype, kernels, maxNumSeqs, threads, calibrate, ...options } =
    readOptions(command);
  const chosen = await chooseModel({ ...options, precision: 'auto' }, async () => null);
  const data = await readEvalFile(own.data ?? (await ownData(chosen)));
  const text = {
    ...(await loadTextModel(chosen.text)),
    maxModelLen: chosen.decoder.config.maxPositionEmbeddings,
  };
  const encoded = encodeData(data, text);
  const texts = calibrationFile(calibrate, own.precisions, chosen.text);
  const reports: PrecisionReport[] = [];
  for (const precision of own.precisions) {
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
    const bar = progressBar(precision);
    bar.start(encoded.texts.length + encoded.prompts.length, 0);
    try {
      const limits = { maxNumSeqs, threads };
      reports.push(await evaluateModel(model, encoded, text, limits, (done) => bar.update(done)));
    } finally {
      bar.stop();
    }
  }
  console.log(own.json ? JSON.stringify(reports, null, 2) : reportTable(reports));
}

function progressBar(precision: string): SingleBar {
  return new SingleBar(
    {
      format: `evaluating ${precision.padEnd(11)} |{bar}| {percentage}% {value}/{total}`,
      noTTYOutput: true,
      notTTYSchedule: 5000,
      hideCursor: true,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
}
