/** `chairlift eval --compare`: variants of a model, or several models, in one table. */
import { createHash } from 'node:crypto';
import { cpus } from 'node:os';
import { usableCores } from '../../ort/usable-cores.ts';
import {
  type Comparison,
  type ComparisonRow,
  readRows,
  type Workload,
} from '../../eval/compare/comparison.ts';
import { comparisonHtml } from '../../eval/compare/compare-html.ts';
import { comparisonMarkdown } from '../../eval/compare/compare-table.ts';
import {
  measureSpeed,
  medianSpeed,
  type Runnable,
  type Speed,
} from '../../eval/compare/measure-speed.ts';
import { parseVariant, type Variant } from '../../eval/compare/variant.ts';
import { type EvalData, readEvalFile } from '../../eval/eval-file.ts';
import {
  type EncodedData,
  encodeData,
  type EvalText,
  evaluateModel,
  type PrecisionReport,
} from '../../eval/evaluate-model.ts';
import { requireWritable, writeNamed } from '../../files/named-files.ts';
import { loadTextModel } from '../../front/prompts/load-text-model.ts';
import type { BuiltModel } from '../../model/manifest.ts';
import { buildWithProgress } from '../../serving/loading/build-model.ts';
import { engineLimits } from '../../serving/plan/engine-limits.ts';
import { ownData } from './eval-data.ts';
import { interruptible } from '../terminal/interruptible.ts';
import { resolveKernels } from '../../serving/choices/kernels.ts';
import { chooseModel } from '../../serving/models/model-source.ts';
import type { Options } from '../../settings/options.ts';
import { cpuSpeed, resolvePrecision } from '../../serving/choices/precision.ts';
import { stepsBar } from '../../serving/progress/progress-bar.ts';
import { UsageError } from '../../settings/usage-error.ts';

const STREAMS = [1, 4, 16];
const PROMPT_TOKENS = 64;
const OUTPUT_TOKENS = 32;

export interface CompareOptions {
  /** Each a model, or a model and a precision. */
  readonly compare: readonly string[];
  readonly rounds: number;
  /** Results of other runs, whose rows are shown next to these. */
  readonly row: readonly string[];
  /** Name of this machine; its processor if left out. */
  readonly machine?: string | undefined;
  /** Evaluation data; the first model's own if left out. */
  readonly data?: string | undefined;
  readonly json: boolean;
  /** Files to write. */
  readonly html?: string | undefined;
  readonly saveResult?: string | undefined;
}

export type CompareModelOptions = Options<
  'adapter' | 'kvCacheDtype' | 'kernels' | 'maxNumSeqs' | 'threads'
>;

/** @throws UserError */
export async function compareVariants(
  own: CompareOptions,
  options: CompareModelOptions,
): Promise<void> {
  const variants = own.compare.map((name) => parseVariant(name));
  const repeated = variants.find(({ name }, index) => own.compare.indexOf(name) !== index);
  if (repeated) throw new UsageError(`--compare has ${repeated.name} twice`);
  const { saveResult, html } = own;
  if (saveResult !== undefined) await requireWritable('--save-result', saveResult);
  if (html !== undefined) await requireWritable('--html', html);
  const data = await dataFor(variants, own.data, options);
  const workload = workloadOf(data);
  const others = await Promise.all(own.row.map((path) => readRows(path, workload)));
  const machine = own.machine ?? machineName();
  const tell = async (rows: readonly Row[]) => {
    const date = new Date().toISOString();
    const all = [...rows.map((row) => ({ ...row, machine })), ...others.flat()];
    const comparison: Comparison = { date, machine, workload, rows: all };
    const json = JSON.stringify(comparison, null, 2);
    console.log(own.json ? json : comparisonMarkdown(comparison));
    if (saveResult !== undefined) await writeNamed('--save-result', saveResult, `${json}\n`);
    if (html !== undefined) await writeNamed('--html', html, comparisonHtml(comparison));
  };
  let soFar: readonly Row[] = [];
  const onRows = (rows: readonly Row[]) => (soFar = rows);
  const rows = await interruptible(
    () => measureRows(variants, data, own.rounds, options, undefined, onRows),
    async () => {
      if (soFar.length > 0) await tell(soFar);
      const done = `${soFar.length} of ${variants.length} variants were measured`;
      console.error(`chairlift: interrupted; ${done}, each at least once`);
    },
  );
  await tell(rows);
}

async function dataFor(
  [first]: readonly Variant[],
  path: string | undefined,
  { adapter }: CompareModelOptions,
): Promise<EvalData> {
  if (path !== undefined) return readEvalFile(path);
  const chosen = await chooseModel(
    { model: first?.model, randomWeights: undefined, adapter },
    async () => null,
  );
  return readEvalFile(await ownData(chosen));
}

export function workloadOf(data: EvalData): Workload {
  return {
    promptTokens: PROMPT_TOKENS,
    outputTokens: OUTPUT_TOKENS,
    streams: STREAMS,
    data: createHash('sha256').update(JSON.stringify(data)).digest('hex'),
  };
}

type Row = Omit<ComparisonRow, 'machine'>;

/**
 * A row for each variant, in their order.
 * @param evaluated what a variant was measured to be before, or what `evaluate` gives
 * @param onRows receives the rows so far after each measurement
 */
export async function measureRows(
  variants: readonly Variant[],
  data: EvalData,
  rounds: number,
  options: CompareModelOptions,
  evaluated = (_variant: Variant, evaluate: () => Promise<PrecisionReport>) => evaluate(),
  onRows: (rows: readonly Row[]) => void = () => {},
): Promise<readonly Row[]> {
  const limits = { maxNumSeqs: options.maxNumSeqs, threads: options.threads };
  const prepared: Prepared[] = [];
  for (const variant of variants) prepared.push(await prepare(variant, data, options));
  const bar = stepsBar('comparing');
  bar.start(variants.length * (rounds + 1), 0);
  try {
    const reports: PrecisionReport[] = [];
    for (const { variant, built, encoded, text } of prepared) {
      const evaluate = () => evaluateModel(built, encoded, text, limits, () => {});
      reports.push(await evaluated(variant, evaluate));
      bar.increment();
    }
    const speeds: Speed[][] = prepared.map(() => []);
    const threads = options.threads || usableCores();
    const rows = () =>
      prepared.flatMap((one, index) => {
        const [report, own = []] = [reports[index], speeds[index]];
        if (report === undefined || own.length === 0) return [];
        return [rowOf(one, report, medianSpeed(own), { rounds: own.length, threads })];
      });
    const work = { promptTokens: PROMPT_TOKENS, outputTokens: OUTPUT_TOKENS, streams: STREAMS };
    await measureSpeed(prepared, work, rounds, (index, speed) => {
      speeds[index]?.push(speed);
      bar.increment();
      onRows(rows());
    });
    return rows();
  } finally {
    bar.stop();
  }
}

function rowOf(
  { variant, built }: Prepared,
  { fileBytes, residentBytes, perplexity, numScoredTokens, tasks }: PrecisionReport,
  { startMs, levels }: Speed,
  how: Pick<ComparisonRow, 'rounds' | 'threads'>,
): Row {
  const { precision, kernels } = built.manifest;
  const accuracy = { perplexity, numScoredTokens, tasks: [...tasks] };
  const speed = { startMs, levels: [...levels] };
  const { name } = variant;
  return {
    variant: name,
    precision,
    kernels,
    ...how,
    fileBytes,
    residentBytes,
    ...speed,
    ...accuracy,
  };
}

interface Prepared extends Runnable {
  readonly variant: Variant;
  readonly built: BuiltModel;
  readonly encoded: EncodedData;
  readonly text: EvalText;
}

/** Builds a variant as `serve` would, or finds it built. */
export async function buildVariant(
  { model, precision }: Variant,
  { adapter, kvCacheDtype, kernels: wanted }: Omit<CompareModelOptions, 'maxNumSeqs' | 'threads'>,
) {
  const chosen = await chooseModel(
    { model, randomWeights: undefined, precision, adapter },
    async () => null,
  );
  const { kind, config } = chosen.decoder;
  const formats = resolvePrecision(precision, null, chosen.decoder, cpuSpeed(wanted));
  const flags = { kernels: wanted, kvCacheDtype };
  const kernels = await resolveKernels(flags, { ...formats, model: kind, device: 'cpu' });
  const built = await buildWithProgress(chosen.source, { ...formats, ...kernels }, kvCacheDtype);
  return { built, config, text: chosen.text };
}

async function prepare(
  variant: Variant,
  data: EvalData,
  options: CompareModelOptions,
): Promise<Prepared> {
  const { built, config, text: source } = await buildVariant(variant, options);
  const text = { ...(await loadTextModel(source)), maxModelLen: config.maxPositionEmbeddings };
  const encoded = encodeData(data, text);
  const limits = engineLimits(
    {
      ...options,
      maxNumSeqs: Math.max(...STREAMS),
      maxModelLen: PROMPT_TOKENS + OUTPUT_TOKENS,
      prefixCaching: false,
      targetItlMs: undefined,
      maxNumBatchedTokens: undefined,
      kvCacheMemory: undefined,
      durableKv: false,
    },
    config,
  );
  const tokenIds = joined([...encoded.texts, ...encoded.prompts.map((prompt) => prompt.tokenIds)]);
  return { variant, built, encoded, text, engine: { ...limits, model: built }, tokenIds };
}

function joined(parts: readonly Int32Array[]): Int32Array {
  return Int32Array.from(parts.flatMap((part) => [...part]));
}

/** Where figures are from, such as `AMD EPYC 9V74, 2 cores`. */
export function machineName(): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown CPU';
  return `${model}, ${process.arch}, ${usableCores()} cores`;
}
