/** Speech of prompts, whose embeddings are before the tokens of a text. */
import type { EmbeddedImages, EmbedFor } from './prompt-image.ts';

/** Said of requests for anything else. */
export const HEARS_ALONE = 'This model writes what it hears, and nothing else.';

/** A window of speech. */
export interface PromptSpeech {
  /** Log-mel features [mels, frames], float32. */
  readonly features: Float32Array<ArrayBuffer>;
  /** SHA-256 of these. */
  readonly hash: string;
}

export interface SpeechEmbedder {
  /**
   * Embeddings at the beginning of a prompt.
   * @param salt shared by those who may find each other's
   * @throws QueueFullError where requests hold too many, before it waits for anything; as TensorModel.infer
   */
  embed(speech: PromptSpeech, salt: string, caller: EmbedFor): Promise<EmbeddedImages>;
}
