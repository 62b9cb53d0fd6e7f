import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { z } from 'zod';
import { collectTargets } from '../distill/collect-targets.ts';
import { encodePromptLine, parsePromptLine, PromptLineError } from '../distill/prompt-line.ts';
import { TargetFile } from '../distill/target-file.ts';
import { type TargetsHeader, toRecord } from '../distill/target-record.ts';
import type { EngineOptions } from '../engine/process/protocol.ts';
import { EngineClient } from '../front/engine-process/engine-client.ts';
import { GREEDY } from '../front/generation/greedy-sampling.ts';
import { requestsInEngine } from '../front/queue/admission.ts';
import { loadTextModel, type TextModel } from '../front/text/load-text-model.ts';
import { NEVER_ABORTED } from '../front/generation/never-aborted.ts';
import { LIMITS } from '../limits.ts';
import { LineIndex, readLines } from '../server/batches/line-file.ts';
import { buildWithProgress } from './build-model.ts';
import { chooseDevice, DEVICE_OPTIONS } from './device.ts';
import { engineLimits, requireReach } from './engine-limits.ts';
import { count } from './flags/values.ts';
import { resolveKernels } from './kernels.ts';
import { chooseModel } from './model-source.ts';
import { addOptions, type Options, readOptions } from './options.ts';
import { cpuSpeed, resolvePrecision } from './precision.ts';
import { stepsBar } from './progress-bar.ts';
import { UsageError } from './usage-error.ts';

const NAMES = [
  'adapter',
  ...DEVICE_OPTIONS,
  'precision',
  'kvCacheDtype',
  'kernels',
  'maxNumSeqs',
  'maxModelLen',
  'maxNumBatchedTokens',
  'kvCacheMemory',
  'prefixCaching',
  'threads',
] as const;

type EngineFlags = Options<(typeof NAMES)[number]>;

/** A student learns little from what its teacher holds less likely than that. */
const MOST_LOGPROBS = 256;

const ownOptions = z.object({
  teacher: z.string().min(1),
  prompts: z.string().min(1),
  out: z.string().min(1),
  topLogprobs: count(1).pipe(
    z.int().max(MOST_LOGPROBS, `--top-logprobs is ${MOST_LOGPROBS} at most`),
  ),
  promptLogprobs: z.boolean().default(false),
  maxTokens: count(1),
  temperature: z.coerce.number().min(0).max(2),
  topP: z.coerce.number().gt(0).max(1),
  seed: count(0),
});

type OwnOptions = z.output<typeof ownOptions>;

/** `chairlift distill-data`: what a teacher holds likely, for a student to learn from. */
export function distillDataCommand(): Command {
  const command = new Command('distill-data')
    .description(
      'have a teacher write texts, with its likeliest tokens at each position; the same command again goes on',
    )
    .requiredOption('--teacher <folder>', 'model, as --model of other commands')
    .requiredOption('--prompts <file>', 'JSON lines of {"prompt"}, {"messages"} or {"text"}')
    .requiredOption('--out <file>', 'soft targets: JSON lines in gzip (docs/distillation.md)')
    .option('--top-logprobs <n>', 'likeliest tokens of each position', '32')
    .option('--prompt-logprobs', "those of the prompts' tokens, too; of a text they always are")
    .option('--max-tokens <n>', 'most tokens to generate for a line that does not say', '256')
    .option('--temperature <t>', 'to draw tokens by; 0 is greedy', '1')
    .option('--top-p <p>', 'draw from the smallest set of tokens that reaches this', '1')
    .option('--seed <n>', 'for the same texts again', '0');
  return addOptions(command, NAMES).action(() => distillData(command));
}

async function distillData(command: Command): Promise<void> {
  const parsed = ownOptions.safeParse(command.opts());
  if (!parsed.success) throw new UsageError(z.prettifyError(parsed.error));
  const own = parsed.data;
  await checkLines(own.prompts);
  const teacher = await openTeacher(own.teacher, readOptions(command));
  const { vocabSize, precision } = teacher;
  if (own.topLogprobs > vocabSize) {
    throw new UsageError(`--top-logprobs ${own.topLogprobs}: the teacher has ${vocabSize} tokens`);
  }
  const header: TargetsHeader = {
    format: 'chairlift-soft-targets',
    version: 1,
    teacher: teacher.name,
    precision,
    vocab_size: vocabSize,
    top_logprobs: own.topLogprobs,
    prompt_logprobs: own.promptLogprobs,
    max_tokens: own.maxTokens,
    temperature: own.temperature,
    top_p: own.topP,
    seed: own.seed,
    prompts: await digestOf(own.prompts),
  };
  const file = await TargetFile.open(own.out, header);
  const input = await LineIndex.open(own.prompts, LIMITS.batchLineBytes);
  try {
    await collectAll(teacher, { own, input, file });
  } finally {
    await Promise.all([file.close(), input.close()]);
  }
}

interface Teacher {
  readonly name: string;
  readonly engine: EngineOptions;
  readonly text: TextModel;
  readonly vocabSize: number;
  readonly precision: string;
}

async function openTeacher(model: string, options: EngineFlags): Promise<Teacher> {
  const { adapter, precision, kvCacheDtype } = options;
  const chosen = await chooseModel(
    { model, adapter, precision, randomWeights: undefined },
    (config) => chooseDevice(options, config),
  );
  const { kind, config } = chosen.decoder;
  const device = await chooseDevice(options, config);
  const limits = engineLimits(
    { ...options, targetItlMs: undefined, durableKv: undefined },
    config,
    device,
  );
  const choice = resolvePrecision(precision, device, chosen.decoder, cpuSpeed(options.kernels));
  const circumstances = { ...choice, model: kind, device: device.device.name };
  const kernels = await resolveKernels(options, circumstances);
  const { maxModelLen } = limits;
  const built = await buildWithProgress(
    chosen.source,
    { ...choice, ...kernels, maxModelLen },
    kvCacheDtype,
  );
  requireReach(limits, built.manifest);
  return {
    name: chosen.name,
    engine: { ...limits, model: built },
    text: await loadTextModel(chosen.text),
    vocabSize: built.manifest.vocabSize,
    precision: built.manifest.precision,
  };
}

interface Work {
  readonly own: OwnOptions;
  readonly input: LineIndex;
  readonly file: TargetFile;
}

async function collectAll(teacher: Teacher, work: Work): Promise<void> {
  const { input, file } = work;
  const left = Array.from({ length: input.numLines }, (_, line) => line).filter(
    (line) => !file.isDone(line),
  );
  const bar = stepsBar('texts');
  const engine = new EngineClient();
  await engine.start(teacher.engine);
  try {
    bar.start(input.numLines, file.numDone);
    const startedAt = performance.now();
    const lines = left.values();
    let numTokens = 0;
    const lane = async () => {
      for (const line of lines) {
        const collected = await collectOne(engine, teacher, work, line);
        numTokens += collected;
        bar.increment();
      }
    };
    const lanes = requestsInEngine(teacher.engine.maxNumSeqs);
    await Promise.all(Array.from({ length: lanes }, lane));
    bar.stop();
    const seconds = (performance.now() - startedAt) / 1000;
    const perSecond = seconds > 0 ? (numTokens / seconds).toFixed(0) : '0';
    console.error(
      `${file.numDone} texts, ${file.numBytes} bytes; ${left.length} of them now: targets of ` +
        `${numTokens} tokens in ${seconds.toFixed(1)} s, ${perSecond} tokens/s`,
    );
  } finally {
    bar.stop();
    await engine.stop();
  }
}

/** @returns tokens that got targets */
async function collectOne(
  engine: EngineClient,
  { engine: { maxModelLen }, text, vocabSize }: Teacher,
  { own, input, file }: Work,
  line: number,
): Promise<number> {
  const origin = `${own.prompts}, text ${line + 1}`;
  const parsed = parsePromptLine(await input.read(line), origin);
  const promptTokenIds = encodePromptLine(parsed, text, origin);
  const isRead = parsed.text !== undefined;
  const room = maxModelLen - promptTokenIds.length;
  if (promptTokenIds.length < (isRead ? 2 : 1) || room < 1) {
    throw new UsageError(
      `${origin} has ${promptTokenIds.length} tokens, and the teacher reaches ${maxModelLen}`,
    );
  }
  const { topLogprobs: numTop, promptLogprobs: withPrompt, temperature, topP, seed } = own;
  const collected = await collectTargets(
    engine,
    {
      line,
      promptTokenIds,
      maxTokens: isRead ? 0 : Math.min(parsed.max_tokens ?? own.maxTokens, room),
      stopTokenIds: text.tokenizer.eosTokenIds,
      // Each text by its own seed: an interrupted run goes on with what it would have written.
      sampling: { ...GREEDY, temperature, topP, seed: BigInt(seed) + BigInt(line) },
      numTop,
      withPrompt,
    },
    NEVER_ABORTED,
  );
  file.add(toRecord(collected, numTop, vocabSize));
  return collected.tokens.length - collected.first;
}

/** So that a long run does not end at a line that is wrong. @throws PromptLineError naming it */
async function checkLines(path: string): Promise<void> {
  let number = 0;
  try {
    for await (const { bytes } of readLines(path, LIMITS.batchLineBytes)) {
      if (bytes.length > 0) parsePromptLine(bytes.toString('utf8'), `${path}, text ${++number}`);
    }
  } catch (error) {
    if (error instanceof PromptLineError) throw error;
    throw new UsageError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (number === 0) throw new UsageError(`${path} is empty`);
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
