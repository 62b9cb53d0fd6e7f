/** From a model that hears to what computes its speech. */
import type { Logger } from 'pino';
import { TENSOR_BATCHING } from '../../front/batching/default-batching.ts';
import { TensorModel } from '../../front/tensors/tensor-model.ts';
import type { Generator } from '../../front/generation/generation.ts';
import { SpeechEncoder } from '../../front/transcription/speech-encoder.ts';
import { Transcriber } from '../../front/transcription/transcriber.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import type { ModelPlan } from '../plan/model-plan.ts';

/** Positions of a window that an encoder is given a step's time for. */
const POSITIONS_OF_STEP = 256;

export interface OpenSpeechOptions {
  readonly logger: Logger;
  readonly isShared: () => boolean;
}

export interface OpenedSpeech {
  readonly hearing: SpeechEncoder;
  readonly encoder: Pick<TensorModel, 'memoryBytes' | 'pids'>;
  stop(): Promise<void>;
}

/**
 * @param name of the model, for the log
 * @returns null for a model that takes no speech
 * @throws EngineError when the encoder can't be built or loaded
 */
export async function openSpeech(
  name: string,
  { chosen: { speech }, options: { threads, stepTimeout } }: Pick<ModelPlan, 'chosen' | 'options'>,
  { logger, isShared }: OpenSpeechOptions,
): Promise<OpenedSpeech | null> {
  if (speech === null) return null;
  const { path, shape } = speech;
  const encoder = new TensorModel({
    source: { type: 'speech', path, cacheDirectory: defaultCacheDirectory() },
    threads,
    // A window keeps all cores busy: more at once would only take more memory.
    batching: { ...TENSOR_BATCHING, maxBatchSize: 1, isShared },
    runTimeoutMs: stepTimeout * 1000 * Math.ceil(shape.numPositions / POSITIONS_OF_STEP),
    yieldsCores: true,
    onCrash: (description) =>
      logger.error({ model: name, description }, 'the speech encoder died; starting another'),
  });
  const stop = () => encoder.stop();
  try {
    await encoder.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { hearing: new SpeechEncoder({ format: shape, encoder }), encoder, stop };
}

/** @param maxModelLen positions of windows and texts together */
export function openTranscriber(
  generator: Generator,
  { format }: SpeechEncoder,
  maxModelLen: number,
): Transcriber {
  return new Transcriber({ generator, format, maxTextTokens: maxModelLen - format.numPositions });
}
