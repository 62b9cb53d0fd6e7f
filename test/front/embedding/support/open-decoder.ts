/** A model that generates text, with all that makes embeddings and scores of it. */
import { openDecoderEncoder } from '../../../../src/serving/loading/open-decoder-encoder.ts';
import { EngineClient } from '../../../../src/front/engine-process/engine-client.ts';
import { TextGenerator } from '../../../../src/front/generation/text-generator.ts';
import { PromptEncoder } from '../../../../src/front/prompts/prompt-encoder.ts';
import { runPromptJob } from '../../../../src/front/prompts/prompt-job.ts';
import { Admission, type AdmissionOptions } from '../../../../src/front/queue/admission.ts';
import { serviceClasses } from '../../../../src/front/service-classes/service-class.ts';
import { loadTextModel } from '../../../../src/front/prompts/load-text-model.ts';
import { prepareModel } from '../../../../src/model/build/prepare-model.ts';

export interface OpenOptions {
  /** At most `MAX_MODEL_LEN`. */
  readonly maxModelLen?: number;
  readonly admission?: Partial<AdmissionOptions>;
}

export const MAX_MODEL_LEN = 1024;
const NUM_SEQS = 4;

export type StartedDecoder = Awaited<ReturnType<typeof startDecoder>>;

/** An engine for all folders with the same weights. */
export async function startDecoder(folder: string, cacheDirectory: string) {
  const source = { kind: 'folder', path: folder } as const;
  const maxModelLen = MAX_MODEL_LEN;
  const model = await prepareModel(source, { precision: 'fp32', cacheDirectory, maxModelLen });
  const engine = new EngineClient();
  await engine.start({
    model,
    maxNumSeqs: NUM_SEQS,
    maxModelLen,
    maxNumBatchedTokens: 256,
    threads: 1,
    kvCacheMemory: 2 ** 28,
    prefixCaching: true,
    targetItlMs: null,
  });
  return { engine, vocabSize: model.manifest.vocabSize };
}

export async function openDecoder(
  { engine, vocabSize }: StartedDecoder,
  folder: string,
  { maxModelLen = MAX_MODEL_LEN, admission: bounds }: OpenOptions = {},
) {
  const textModel = await loadTextModel({ folder, vocabSize });
  const { tokenizer } = textModel;
  const admission = new Admission({ concurrency: NUM_SEQS, maxQueue: 8, ...bounds });
  const prompts = new PromptEncoder({
    model: textModel,
    admission,
    pool: { run: async (job) => runPromptJob(textModel, job) },
  });
  const generator = new TextGenerator({ engine, tokenizer, admission, eosTokenIds: [] });
  const problems: string[] = [];
  const encoder = await openDecoderEncoder({
    folder,
    generator,
    prompts,
    tokenizer,
    rules: { priorities: { min: 0, max: 9 }, sharePrefixCache: false },
    classOf: () => serviceClasses().usual,
    parallel: NUM_SEQS,
    hiddenSize: engine.info.hiddenSize,
    maxModelLen,
    onProblem: (problem) => problems.push(problem),
  });
  return { encoder, engine, admission, tokenizer, problems };
}
