/** From a model that hears to what computes its speech. */
import type { Logger } from 'pino';
import { TENSOR_BATCHING } from '../../front/batching/default-batching.ts';
import { TensorModel } from '../../front/tensors/tensor-model.ts';
import type { Generator } from '../../front/generation/generation.ts';
import { SpeechAligner } from '../../front/transcription/speech-aligner.ts';
import { SpeechEncoder } from '../../front/transcription/speech-encoder.ts';
import { readSpeechVocabulary } from '../../front/transcription/speech-vocabulary.ts';
import { Transcriber } from '../../front/transcription/transcriber.ts';
import type { TextTokenizer } from '../../front/text/tokenizer.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { readAlignment } from '../../model/speech/alignment-config.ts';
import type { WrittenSpeech } from '../../server/runtimes.ts';
import { UsageError } from '../../settings/usage-error.ts';
import type { ModelPlan } from '../plan/model-plan.ts';

/** Positions of a window that an encoder is given a step's time for. */
const POSITIONS_OF_STEP = 256;
/** Tokens that a prompt and a text need at least. */
const MIN_TEXT_TOKENS = 16;
/** Names of the processes, for the log. */
const DIED = { speech: 'speech encoder', alignment: 'speech aligner' } as const;

export interface OpenSpeechOptions {
  readonly tokenizer: TextTokenizer;
  readonly logger: Logger;
  readonly isShared: () => boolean;
}

export interface OpenedSpeech {
  readonly hearing: SpeechEncoder;
  readonly encoder: Pick<TensorModel, 'memoryBytes' | 'pids'>;
  /** Once there is a generator. */
  writes(generator: Generator): WrittenSpeech;
  stop(): Promise<void>;
}

/**
 * @param name of the model, for the log
 * @returns null for a model that takes no speech
 * @throws EngineError when the encoder can't be built or loaded; TokenizerError where the tokenizer is not one of
 *   speech; UsageError where there is no room for its texts
 */
export async function openSpeech(
  name: string,
  plan: Pick<ModelPlan, 'chosen' | 'options' | 'limits'>,
  { tokenizer, logger, isShared }: OpenSpeechOptions,
): Promise<OpenedSpeech | null> {
  const { speech, decoder } = plan.chosen;
  if (speech === null) return null;
  const { path, shape } = speech;
  const { threads, stepTimeout } = plan.options;
  const maxTextTokens = plan.limits.maxModelLen - shape.numPositions;
  if (maxTextTokens < MIN_TEXT_TOKENS) {
    throw new UsageError(
      `--max-model-len: ${name} takes ${shape.numPositions} positions for a window of speech, and at least ` +
        `${MIN_TEXT_TOKENS} for its text`,
    );
  }
  const vocabulary = await readSpeechVocabulary(path, tokenizer, decoder.config.vocabSize);
  const newModel = (type: 'speech' | 'alignment') =>
    new TensorModel({
      source: { type, path, cacheDirectory: defaultCacheDirectory() },
      threads,
      // A window keeps all cores busy: more at once would only take more memory.
      batching: { ...TENSOR_BATCHING, maxBatchSize: 1, isShared },
      runTimeoutMs: stepTimeout * 1000 * Math.ceil(shape.numPositions / POSITIONS_OF_STEP),
      yieldsCores: true,
      onCrash: (description) =>
        logger.error({ model: name, description }, `the ${DIED[type]} died; starting another`),
    });
  const encoder = newModel('speech');
  const hearing = new SpeechEncoder({ format: shape, encoder });
  const aligns = (await readAlignment(path)) !== null;
  const aligner = aligns
    ? new SpeechAligner({ hearing, format: shape, newModel: () => newModel('alignment') })
    : null;
  const stop = async () => {
    await Promise.all([encoder.stop(), aligner?.stop()]);
  };
  try {
    await encoder.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    hearing,
    encoder: {
      get memoryBytes() {
        return encoder.memoryBytes + (aligner?.memoryBytes ?? 0);
      },
      get pids() {
        return [...encoder.pids, ...(aligner?.pids ?? [])];
      },
    },
    writes: (generator) => ({
      transcriber: new Transcriber({ generator, format: shape, maxTextTokens, aligner }),
      vocabulary,
    }),
    stop,
  };
}
