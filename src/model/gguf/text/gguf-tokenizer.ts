import { ModelError } from '../../model-error.ts';
import { mergesByScore, type SpacePrefix, spaceSteps } from '../../tokenizer/spaced-text.ts';
import {
  addedTokens,
  byteLevelBpe,
  commonParts,
  fallbackBpe,
} from '../../tokenizer/tokenizer-json.ts';
import type { Vocabulary } from '../../tokenizer/vocabulary.ts';
import type { GgufMetadata } from '../metadata.ts';
import { readVocabulary } from './gguf-vocabulary.ts';
import { preTokenizer } from './pre-tokenizers.ts';

/** Markers of Phi-3 after which spaces count: a file does not state them. */
const KEEP_SPACES_AFTER = new Set(['<unk>', '<s>', '<|endoftext|>']);

/** Where this is a token, Mistral's templates write a space after it themselves. */
const MISTRAL_TURN = '[INST]';

/** A GGUF file's tokenizer, as a tokenizer.json describes it. */
export interface GgufTokenizer {
  /** Says whether texts begin with the begin token, also where the file does not. */
  readonly vocabulary: Vocabulary;
  /** The content of tokenizer.json. */
  readonly json: unknown;
}

/**
 * Makes a tokenizer.json of a GGUF model's metadata.
 * @throws {ModelError} if there is no tokenizer, or its kind is not supported
 */
export function readGgufTokenizer(metadata: GgufMetadata, path: string): GgufTokenizer {
  const kind = metadata.require('tokenizer.ggml.model', metadata.string('tokenizer.ggml.model'));
  const stated = readVocabulary(metadata, path);
  if (kind === 'gpt2') {
    const way = preTokenizer(metadata.string('tokenizer.ggml.pre'), path);
    const vocabulary = { ...stated, addsBos: stated.addsBos ?? way.addsBos };
    return { vocabulary, json: byteLevelBpe(vocabulary, readMerges(metadata, path), way) };
  }
  if (kind === 'llama') {
    const vocabulary = { ...stated, addsBos: stated.addsBos ?? true };
    return { vocabulary, json: sentencePiece(metadata, vocabulary) };
  }
  if (kind === 'gemma4') {
    // Files that deny it were made by mistake, as llama.cpp has it.
    const vocabulary = { ...stated, addsBos: true };
    return { vocabulary, json: spacedBpe(metadata, vocabulary, path) };
  }
  throw new ModelError(
    `${path}: tokenizer.ggml.model "${kind}" is not supported (supported: gemma4, gpt2, llama)`,
  );
}

/** @throws {ModelError} if one has no two parts */
function readMerges(metadata: GgufMetadata, path: string): readonly string[] {
  const key = 'tokenizer.ggml.merges';
  const merges = metadata.require(key, metadata.strings(key));
  const wrong = merges.find((merge) => merge.indexOf(' ', 1) === -1);
  if (wrong !== undefined) {
    throw new ModelError(`${path}: the merge ${JSON.stringify(wrong)} has no two parts`);
  }
  return merges;
}

/** Gemma 4's: letters in place of spaces and bytes for rare letters, as SentencePiece, and merges that are listed. */
function spacedBpe(metadata: GgufMetadata, vocabulary: Vocabulary, path: string): unknown {
  return {
    ...commonParts(vocabulary),
    ...spaceSteps('never'),
    added_tokens: addedTokens(vocabulary.added),
    model: fallbackBpe(vocabulary, readMerges(metadata, path)),
  };
}

function prefixOf(
  metadata: GgufMetadata,
  { added }: Vocabulary,
  architecture: string | undefined,
): SpacePrefix {
  const stated = metadata.boolean('tokenizer.ggml.add_space_prefix');
  // Ollama's files do not say that Gemma's texts have none.
  if (!(stated ?? architecture?.startsWith('gemma') !== true)) return 'never';
  return added.some(({ content }) => content === MISTRAL_TURN) ? 'first' : 'always';
}

/** SentencePiece's BPE: merges are not listed, but follow from the scores. */
function sentencePiece(metadata: GgufMetadata, vocabulary: Vocabulary): unknown {
  const key = 'tokenizer.ggml.scores';
  const scores = metadata.require(key, metadata.numbers(key));
  const architecture = metadata.string('general.architecture');
  const prefix = prefixOf(metadata, vocabulary, architecture);
  const isPhi3 = architecture === 'phi3';
  return {
    ...commonParts(vocabulary),
    ...spaceSteps(prefix),
    added_tokens: addedTokens(
      vocabulary.added.map((token) => ({
        ...token,
        rstrip: isPhi3 && !KEEP_SPACES_AFTER.has(token.content),
      })),
    ),
    model: fallbackBpe(vocabulary, mergesByScore(vocabulary, scores)),
  };
}
