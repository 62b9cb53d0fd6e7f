import { MissingTokenError } from '../text/model-vocabulary.ts';
import {
  type EncodedText,
  type EncoderTokenizer,
  TextTooLongError,
  type Truncation,
} from './encoder-tokenizer.ts';

/** A plain value that crosses threads. */
export interface TokenizeJob {
  /** Texts, or pairs of them. */
  readonly texts: readonly (readonly [string, string?])[];
  readonly maxTokens: number;
  readonly truncate: Truncation;
}

/** Errors lose their class between threads. */
export type TokenizeAnswer =
  | { readonly type: 'done'; readonly texts: readonly EncodedText[] }
  | { readonly type: 'too-long'; readonly index: number; readonly numTokens: number }
  | { readonly type: 'missing-token'; readonly message: string };

export function runTokenizeJob(
  tokenizer: EncoderTokenizer,
  { texts, ...options }: TokenizeJob,
): TokenizeAnswer {
  try {
    const encoded = texts.map((text, index) => tokenizer.encode(text, { ...options, index }));
    return { type: 'done', texts: encoded };
  } catch (error) {
    if (error instanceof MissingTokenError) {
      return { type: 'missing-token', message: error.message };
    }
    if (!(error instanceof TextTooLongError)) throw error;
    return { type: 'too-long', index: error.index, numTokens: error.numTokens };
  }
}
