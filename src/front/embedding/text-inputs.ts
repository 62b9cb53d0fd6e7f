import type { TextEnd } from '../../model/encoder/text-part.ts';
import type { Caller } from '../caller.ts';
import type { EncoderEngine } from '../encoder-process/encoder-engine.ts';
import { checkTokenIds, type ClassifierInput, unitsOf } from './embed-request.ts';
import type {
  EncodedText,
  EncoderTokenizer,
  EncoderTokenizerSource,
  Truncation,
} from './encoder-tokenizer.ts';
import { withEnd } from './text-end.ts';
import type { TokenizeJob } from './tokenize-job.ts';
import { TokenizePool } from './tokenize-pool.ts';

/** Most bytes of a character that waits to be tokenized; a token takes as many. */
const BYTES_PER_UNIT = 4;

export interface TextInputsOptions {
  readonly tokenizer: EncoderTokenizer;
  readonly source: EncoderTokenizerSource;
  readonly tokenizerThreads: number;
  /** Longest text in tokens, special ones included. */
  readonly maxTokens: number;
  readonly textEnd: TextEnd | null;
  readonly engine: Pick<EncoderEngine, 'prepare'>;
}

/** From the inputs of a request to tokens for an encoder. */
export class TextInputs {
  readonly #options: TextInputsOptions;
  readonly #pool: TokenizePool;

  constructor(options: TextInputsOptions) {
    this.#options = options;
    this.#pool = new TokenizePool(options.tokenizer, options.source, options.tokenizerThreads);
  }

  /** Ends its threads. */
  close(): void {
    this.#pool.close();
  }

  /**
   * @param prompt comes before each text @param maxTokens of a text, if others than the model's own
   * @throws as TextEncoder.embed
   */
  async encode(
    inputs: readonly ClassifierInput[],
    prompt: string,
    truncate: Truncation,
    caller: Caller,
    maxTokens = this.#options.maxTokens,
  ): Promise<readonly EncodedText[]> {
    const { tokenizer, engine } = this.#options;
    const { size: vocabSize } = tokenizer.vocabulary;
    const units = inputs.reduce((sum, input) => sum + unitsOf(input), 0);
    const prepared = engine.prepare(inputs.length, BYTES_PER_UNIT * units, caller.client);
    try {
      const texts = inputs.flatMap((input): (readonly [string, string?])[] => {
        if (typeof input === 'string') return [[prompt + input]];
        return input instanceof Int32Array ? [] : [input];
      });
      const tokenized = [...(await this.#tokenize({ texts, maxTokens, truncate }, caller))];
      return inputs.map((input, index) =>
        this.#ended(
          input instanceof Int32Array
            ? checkTokenIds(input, { vocabSize, maxTokens, truncate: truncate !== false, index })
            : (tokenized.shift() ?? { ids: new Int32Array(), secondStart: 0 }),
        ),
      );
    } finally {
      prepared();
    }
  }

  #ended(text: EncodedText): EncodedText {
    const { textEnd, tokenizer } = this.#options;
    if (textEnd === null) return text;
    const ids = withEnd(text.ids, textEnd, tokenizer.padTokenId);
    return { ids, secondStart: ids.length };
  }

  async #tokenize(job: TokenizeJob, caller: Caller): Promise<readonly EncodedText[]> {
    if (job.texts.length === 0) return [];
    const begunAt = performance.now();
    try {
      return await this.#pool.run(job, caller);
    } finally {
      caller.record?.tokenized(begunAt, performance.now());
    }
  }
}
