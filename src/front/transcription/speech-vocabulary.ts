/** Tokens that a model of speech has besides those of texts, and those that its texts have no place for. */
import { join } from 'node:path';
import { z } from 'zod';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { readJsonFile, TokenizerError } from '../text/tokenizer-files.ts';
import type { TextTokenizer } from '../text/tokenizer.ts';
import { LANGUAGES } from './languages.ts';
import type { SpeechTokens } from './speech-model.ts';

export interface SpeechVocabulary {
  readonly tokens: SpeechTokens;
  /** Token that says that nobody speaks; null for a model without one. */
  readonly noSpeech: number | null;
  /** Those that never come in a text, and those that do not come first. */
  readonly suppressed: Int32Array;
  readonly suppressedFirst: Int32Array;
  /** Latest step of 20 ms that the first timestamp may have. */
  readonly maxInitialTimestamp: number;
}

/** A second, as OpenAI's own decoder has it. */
const MAX_INITIAL_TIMESTAMP = 50;

const suppressed = z.array(z.int()).max(MODEL_LIMITS.suppressedTokens).nullish();

/** Fields of generation_config.json; the first checkpoints have those of tokens in config.json. */
const generationConfig = z.looseObject({
  suppress_tokens: suppressed,
  begin_suppress_tokens: suppressed,
  max_initial_timestamp_index: z.int().min(0).nullish(),
  is_multilingual: z.boolean().nullish(),
});

type Tokenizer = Pick<TextTokenizer, 'tokenToId' | 'eosTokenIds'>;

/**
 * @param folder of the model
 * @param vocabSize tokens of the model
 * @throws TokenizerError naming the token that is missing, or the file that is damaged
 */
export async function readSpeechVocabulary(
  folder: string,
  tokenizer: Tokenizer,
  vocabSize: number,
): Promise<SpeechVocabulary> {
  const [own, config] = await Promise.all(
    ['generation_config.json', 'config.json'].map((name) =>
      readJsonFile(join(folder, name), generationConfig),
    ),
  );
  const ids = (listed: readonly number[] | null | undefined) =>
    Int32Array.from((listed ?? []).filter((id) => id >= 0 && id < vocabSize));
  const tokens = tokensOf(folder, tokenizer, vocabSize, own?.is_multilingual ?? null);
  return {
    tokens,
    noSpeech: idOf(tokenizer, vocabSize, '<|nospeech|>', '<|nocaptions|>'),
    suppressed: ids(own?.suppress_tokens ?? config?.suppress_tokens),
    suppressedFirst: ids(own?.begin_suppress_tokens ?? config?.begin_suppress_tokens),
    maxInitialTimestamp: own?.max_initial_timestamp_index ?? MAX_INITIAL_TIMESTAMP,
  };
}

/** Tokens of the models of English alone. Their tokenizers have languages, which they were never shown. */
const ENGLISH_VOCABULARY = 51_864;

function tokensOf(
  folder: string,
  tokenizer: Tokenizer,
  vocabSize: number,
  isMultilingual: boolean | null,
): SpeechTokens {
  const find = (...names: readonly string[]) => idOf(tokenizer, vocabSize, ...names);
  const need = (name: string): number => {
    const id = find(name);
    if (id !== null) return id;
    throw new TokenizerError(`${folder}: the tokenizer has no ${name}, which speech needs`);
  };
  const endOfText = need('<|endoftext|>');
  const startOfTranscript = need('<|startoftranscript|>');
  const noTimestamps = need('<|notimestamps|>');
  const startOfPrevious = need('<|startofprev|>');
  if (!tokenizer.eosTokenIds.includes(endOfText)) {
    throw new TokenizerError(
      `${folder}: <|endoftext|> has to be an end-of-sequence token of speech`,
    );
  }
  const firstTimestamp = noTimestamps + 1;
  // Words, then special tokens, then times: rules and texts rely on it.
  const special = [startOfTranscript, startOfPrevious];
  const isOrdered = special.every((id) => id > endOfText && id < noTimestamps);
  if (!isOrdered || firstTimestamp >= vocabSize) {
    throw new TokenizerError(`${folder}: the tokens are not in Whisper's order`);
  }
  const isEnglish = isMultilingual === null ? vocabSize === ENGLISH_VOCABULARY : !isMultilingual;
  const languages = isEnglish
    ? []
    : [...LANGUAGES.keys()].flatMap((code) => {
        const id = find(`<|${code}|>`);
        return id === null ? [] : [[code, id] as const];
      });
  return {
    endOfText,
    startOfTranscript,
    transcribe: isEnglish ? null : find('<|transcribe|>'),
    translate: isEnglish ? null : find('<|translate|>'),
    startOfPrevious,
    noTimestamps,
    firstTimestamp,
    languages: new Map(languages),
  };
}

/** The first of some tokens that there is, and that the model has. */
function idOf(tokenizer: Tokenizer, vocabSize: number, ...names: readonly string[]): number | null {
  const ids = names.flatMap((name) => tokenizer.tokenToId(name) ?? []);
  return ids.find((id) => id < vocabSize) ?? null;
}
