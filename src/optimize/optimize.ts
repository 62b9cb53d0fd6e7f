import { copyFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileExists } from '../files/file-exists.ts';
import { prepareModel } from '../model/build/prepare-model.ts';
import type { DecoderConfig } from '../model/huggingface/config.ts';
import { readJson } from '../model/huggingface/json-file.ts';
import { SINGLE_FILE } from '../model/huggingface/safetensors.ts';
import { LayerwiseDecoder } from './calibration/layerwise-decoder.ts';
import { pickTexts, writeOwnTexts } from './calibration/own-texts.ts';
import { type Checkpoint, openSource, openStep } from './folder/checkpoint.ts';
import { factsPath } from './folder/step-folder.ts';
import { WorkFolder } from './folder/work-folder.ts';
import { measure, type Measures } from './measure.ts';
import { type GivenTexts, type OptimizePlan, planKey, TEXT_LENGTH, textsHash } from './plan.ts';
import { runStep } from './steps/run-step.ts';
import { StepError } from './steps/step.ts';

/** Content of optimization.json. */
export interface OptimizationReport {
  readonly source: { readonly weights: string };
  readonly seed: number;
  readonly calibration: TextFacts;
  readonly evaluation: TextFacts;
  readonly steps: readonly Readonly<Record<string, unknown>>[];
  readonly before: Measures;
  readonly after: Measures & { readonly bytes: number };
}

interface TextFacts {
  readonly from: string;
  readonly texts: number;
  readonly tokens: number;
  /** Hash of the token ids. */
  readonly sha256: string;
}

/** Hears what is being done, and how far it is. */
export type OnProgress = (what: string, done: number, total: number) => void;

const REPORT_FILE = 'optimization.json';

/** Files of a model's text side, its licence, and texts to evaluate it with. */
const COPIED =
  /^(tokenizer.*\.(json|model)|special_tokens_map\.json|added_tokens\.json|vocab\..*|merges\.txt|generation_config\.json|chat_template\..*|licen[cs]e.*|eval\.jsonl)$/i;

/** Texts of the model's own, when it is to be measured with others than it is calibrated with. */
const EVALUATION_SEED = 1_000_003;

/**
 * Applies steps to a model, one after the other, and puts the result where there is nothing yet: a folder
 * that can be served. After a crash the same plan goes on where it was.
 * @param result absolute path of the folder
 * @throws {ModelError} if the model can't be read or is of a kind that optimize does not know
 * @throws {StepError} if a step does not fit the model
 */
export async function optimizeModel(
  plan: OptimizePlan,
  result: string,
  onProgress: OnProgress,
): Promise<OptimizationReport> {
  // Refusals come before anything is made.
  const source = await openSource(plan.source);
  const work = await WorkFolder.open(result, planKey(plan)).catch(async (error: unknown) => {
    await source.weights.close();
    throw error;
  });
  try {
    return await new Optimization(plan, work, onProgress).run(source, result);
  } catch (error) {
    // The same plan would fail again.
    if (error instanceof StepError) await work.remove();
    throw error;
  } finally {
    work.close();
  }
}

interface HowToWrite {
  readonly config: DecoderConfig;
  readonly seed: number;
}

class Optimization {
  readonly #plan: OptimizePlan;
  readonly #work: WorkFolder;
  readonly #onProgress: OnProgress;

  constructor(plan: OptimizePlan, work: WorkFolder, onProgress: OnProgress) {
    this.#plan = plan;
    this.#work = work;
    this.#onProgress = onProgress;
  }

  /** @param original closed afterwards */
  async run(original: Checkpoint, result: string): Promise<OptimizationReport> {
    const { seed, steps, identity, calibration, evaluation } = this.#plan;
    const { config } = original;
    let source = original;
    try {
      const texts = await this.#texts('calibration', calibration, { config, seed });
      const other = { config, seed: seed + EVALUATION_SEED };
      const measured = await this.#texts('evaluation', evaluation, other);
      const before = await this.#measure('before', source, measured);
      const facts: unknown[] = [];
      for (const [index, step] of steps.entries()) {
        const path = this.#work.stepPath(index);
        if (!(await fileExists(path))) {
          const folder = await this.#work.step(index);
          const onProgress = this.#progressOf(`step ${index + 1}, ${step.step}`);
          const decoder = (model: Pick<Checkpoint, 'config' | 'weights'>) => this.#decoder(model);
          const context = { source, texts, folder, decoder, onProgress };
          await runStep(context, step, this.#plan.threads);
        }
        await source.weights.close();
        source = await openStep(path);
        facts.push({ ...step, ...Object(await readJson(factsPath(path))) });
      }
      const finished = this.#work.stepPath(steps.length - 1);
      const after = await this.#measure('after', source, measured);
      const { size: bytes } = await stat(join(finished, SINGLE_FILE));
      const report = {
        source: { weights: identity },
        seed,
        calibration: textFacts(calibration, texts),
        evaluation: textFacts(evaluation, measured),
        steps: facts.map((each) => Object(each)),
        before,
        after: { ...after, bytes },
      };
      await this.#addText(finished);
      const text = `${JSON.stringify(report, null, 2)}\n`;
      await writeFile(join(finished, REPORT_FILE), text, { flush: true });
      await this.#work.publish(finished, result);
      return report;
    } finally {
      await source.weights.close();
    }
  }

  /** Texts as they were picked or written before a crash, otherwise new ones. */
  async #texts(name: string, given: GivenTexts | null, how: HowToWrite): Promise<Int32Array[]> {
    const texts = await this.#work.once(name, async () => {
      const found = given ? this.#pick(given, how.seed) : await this.#ownTexts(name, how);
      return found.map((text) => Array.from(text));
    });
    return texts.map((text) => Int32Array.from(text));
  }

  #pick({ texts }: GivenTexts, seed: number): Int32Array[] {
    const { numTokens } = this.#plan;
    return pickTexts(texts, { length: TEXT_LENGTH, numTokens, seed });
  }

  async #ownTexts(name: string, { config, seed }: HowToWrite): Promise<Int32Array[]> {
    const { source, numTokens, threads } = this.#plan;
    const cacheDirectory = this.#work.scratch;
    const model = await prepareModel(source, { precision: 'fp32', cacheDirectory });
    const length = Math.min(TEXT_LENGTH, config.maxPositionEmbeddings);
    const { bosTokenId } = config;
    const numTexts = Math.ceil(numTokens / length);
    const onProgress = this.#progressOf(`writing texts, ${name}`);
    return writeOwnTexts(model, { numTexts, length, seed, bosTokenId, threads }, onProgress);
  }

  #measure(
    name: string,
    model: Pick<Checkpoint, 'config' | 'weights'>,
    texts: readonly Int32Array[],
  ): Promise<Measures> {
    const onProgress = this.#progressOf(`measuring ${name}`);
    return this.#work.once(name, () => measure(model, this.#decoder(model), texts, onProgress));
  }

  #decoder(model: Pick<Checkpoint, 'config' | 'weights'>): LayerwiseDecoder {
    const { threads } = this.#plan;
    return new LayerwiseDecoder(model, {
      longest: TEXT_LENGTH,
      folder: this.#work.scratch,
      threads,
    });
  }

  async #addText(folder: string): Promise<void> {
    const { textFolder } = this.#plan;
    if (textFolder === null) return;
    for (const name of await readdir(textFolder)) {
      if (COPIED.test(name)) await copyFile(join(textFolder, name), join(folder, name));
    }
  }

  #progressOf(what: string) {
    return (done: number, total: number) => this.#onProgress(what, done, total);
  }
}

function textFacts(given: GivenTexts | null, texts: readonly Int32Array[]): TextFacts {
  return {
    from: given?.from ?? "the model's own",
    texts: texts.length,
    tokens: texts.reduce((sum, text) => sum + text.length, 0),
    sha256: textsHash(texts),
  };
}
