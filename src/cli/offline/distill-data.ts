import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { collectTargets } from '../../distill/collect-targets.ts';
import { encodePromptLine, parsePromptLine } from '../../distill/prompt-line.ts';
import { TargetFile } from '../../distill/target-file.ts';
import { type TargetsHeader, toRecord } from '../../distill/target-record.ts';
import type { EngineOptions } from '../../engine/process/protocol.ts';
import { EngineClient } from '../../front/engine-process/engine-client.ts';
import { GREEDY } from '../../front/generation/greedy-sampling.ts';
import { requestsInEngine } from '../../front/queue/admission.ts';
import { loadTextModel, type TextModel } from '../../front/prompts/load-text-model.ts';
import { NEVER_ABORTED } from '../../front/never-aborted.ts';
import { LIMITS } from '../../limits.ts';
import { LineIndex, readLines } from '../../server/batches/line-file.ts';
import { buildWithProgress } from '../../serving/loading/build-model.ts';
import type { OptionOf } from '../../settings/commands.ts';
import { chooseDevice } from '../../serving/choices/device.ts';
import { engineLimits, requireReach } from '../../serving/plan/engine-limits.ts';
import { interruptible, sayHowToGoOn } from '../terminal/interruptible.ts';
import { resolveKernels } from '../../serving/choices/kernels.ts';
import { chooseModel } from '../../serving/models/model-source.ts';
import type { Options } from '../../settings/options.ts';
import { cpuSpeed, resolvePrecision } from '../../serving/choices/precision.ts';
import { stepsBar } from '../../serving/progress/progress-bar.ts';
import { SlowNotice } from '../../serving/progress/slow-notice.ts';
import type { Settings } from '../../settings/settings.ts';
import { UserError } from '../../user-error.ts';
import { UsageError } from '../../settings/usage-error.ts';
import { naming, requireWritable } from '../../files/named-files.ts';
import { meaningOf } from '../../files/system-error.ts';

type DistillOptions = Options<OptionOf<'distill-data'>>;

/** `chairlift distill-data`: what a teacher holds likely, for a student to learn from. */
export async function distillData({ options: own }: Settings<'distill-data'>): Promise<void> {
  await checkLines(own.prompts);
  await requireWritable('--out', own.targets);
  const teacher = await openTeacher(own);
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
    max_tokens: own.distillTokens,
    temperature: own.distillTemperature,
    top_p: own.distillTopP,
    seed: own.fixedSeed,
    prompts: await digestOf(own.prompts),
  };
  const file = await naming('--out', own.targets, () => TargetFile.open(own.targets, header));
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

async function openTeacher(options: DistillOptions): Promise<Teacher> {
  const { precision, kvCacheDtype } = options;
  const chosen = await chooseModel(
    { ...options, model: options.teacher, randomWeights: undefined },
    (config) => chooseDevice(options, config),
  );
  const { kind, config } = chosen.decoder;
  const device = await chooseDevice(options, config);
  const limits = engineLimits(
    { ...options, targetItlMs: undefined, durableKv: false },
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
  readonly own: DistillOptions;
  readonly input: LineIndex;
  readonly file: TargetFile;
}

async function collectAll(teacher: Teacher, work: Work): Promise<void> {
  const { own, input, file } = work;
  const left = Array.from({ length: input.numLines }, (_, line) => line).filter(
    (line) => !file.isDone(line),
  );
  const bar = stepsBar('texts');
  const engine = new EngineClient();
  await new SlowNotice().during(`loading ${teacher.name}`, engine.start(teacher.engine));
  try {
    bar.start(input.numLines, file.numDone);
    const startedAt = performance.now();
    const lines = left.values();
    let numTokens = 0;
    const lane = async () => {
      for (const line of lines) {
        const collected = await naming('--out', own.targets, () =>
          collectOne(engine, teacher, work, line),
        );
        numTokens += collected;
        bar.increment();
      }
    };
    const lanes = requestsInEngine(teacher.engine.maxNumSeqs);
    await interruptible(
      () => Promise.all(Array.from({ length: lanes }, lane)),
      () => sayHowToGoOn(`${own.targets} has ${file.numDone} of ${input.numLines} texts`),
    );
    bar.stop();
    const seconds = (performance.now() - startedAt) / 1000;
    const perSecond = seconds > 0 ? (numTokens / seconds).toFixed(0) : '0';
    console.error(
      `${file.numDone} texts, ${file.numBytes} bytes; ${left.length} of them in this run: targets of ` +
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
    throw new UserError(
      `${origin} has ${promptTokenIds.length} tokens; the teacher takes at most ${maxModelLen}`,
    );
  }
  const { topLogprobs: numTop, promptLogprobs: withPrompt, fixedSeed: seed } = own;
  const { distillTemperature: temperature, distillTopP: topP } = own;
  const collected = await collectTargets(
    engine,
    {
      line,
      promptTokenIds,
      maxTokens: isRead ? 0 : Math.min(parsed.max_tokens ?? own.distillTokens, room),
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

/** So that a long run does not end at a line that is wrong. @throws UserError naming it */
async function checkLines(path: string): Promise<void> {
  let number = 0;
  try {
    for await (const { bytes } of readLines(path, LIMITS.batchLineBytes)) {
      parsePromptLine(bytes.toString('utf8'), `${path}, text ${++number}`);
    }
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`--prompts ${path}: ${meaningOf(error)}`, { cause: error });
  }
  if (number === 0) throw new UserError(`${path} is empty`);
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
