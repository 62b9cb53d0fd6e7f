/** tokenizer.json of SentencePiece's models, which encodes texts as SentencePiece does. */
import {
  type MadeTokenizer,
  allAdded,
  requireBounded,
  requireDistinct,
  UnknownForm,
} from './made-tokenizer.ts';
import { readSentencePiece, type SentencePieceFile } from './sentencepiece-file.ts';
import { mergesByScore, type SpacePrefix, spaceSteps } from './spaced-text.ts';
import type { TextSettings } from './text-settings.ts';
import { CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED } from './token-kinds.ts';
import { addedTokens, commonParts, fallbackBpe } from './tokenizer-json.ts';
import { escapedPattern } from './escaped-pattern.ts';
import type { AddedToken, Vocabulary } from './vocabulary.ts';

const UNIGRAM = 1;
const BPE = 2;
/** Rules of replacing characters that the library has; it knows no others. */
const KNOWN_RULES = 'nmt_nfkc';

/** A file of another form under the same name. */
const RANKS = /^[A-Za-z0-9+/]+=* \d+\n/;

/** Classes with words, and words around texts, that are not those of the model's own file. */
const OTHERS =
  /^(XLMRoberta|Camembert|MBart|Nllb|M2M100|T5|MT5|Albert|XLNet|Pegasus|DebertaV2|BigBird|Reformer)/;

/** @throws {ModelError} if the file is damaged, or of a kind that is not supported */
export function fromSentencePiece(
  bytes: Uint8Array,
  settings: TextSettings,
  path: string,
): MadeTokenizer {
  if (RANKS.test(Buffer.from(bytes.subarray(0, 200)).toString('latin1'))) {
    throw new UnknownForm('it is a list of ranks, and how it cuts texts is in code of its own');
  }
  const file = readSentencePiece(bytes, path);
  requireKnown(file, settings);
  requireBounded(
    file.pieces.map(({ text }) => text),
    path,
  );
  const vocabulary = vocabularyOf(file, settings, path);
  const scores = file.pieces.map(({ score }) => score);
  const userDefined = file.pieces.flatMap(({ kind }, id) => {
    return kind === USER_DEFINED ? (vocabulary.tokens[id] ?? []) : [];
  });
  const unigram = {
    type: 'Unigram',
    unk_id: file.unknownId,
    byte_fallback: file.byteFallback,
    vocab: vocabulary.tokens.map((text, id) => [text, scores[id] ?? 0]),
  };
  const bpe = () => ({
    ...fallbackBpe(vocabulary, mergesByScore(vocabulary, scores)),
    byte_fallback: file.byteFallback,
    // User-defined pieces are whole, and no merges lead there.
    ignore_merges: userDefined.length > 0,
  });
  const { bos, eos, unknown } = vocabulary;
  return {
    json: {
      ...commonParts(vocabulary),
      ...stepsOf(file, settings, userDefined),
      added_tokens: addedTokens(vocabulary.added),
      model: file.modelType === UNIGRAM ? unigram : bpe(),
    },
    config: { bos_token: bos, eos_token: eos, unk_token: unknown },
  };
}

/** @throws {UnknownForm} */
function requireKnown(file: SentencePieceFile, { tokenizerClass }: TextSettings): void {
  const { modelType } = file;
  if (modelType !== UNIGRAM && modelType !== BPE) {
    throw new UnknownForm(`it is a model of words or characters (type ${modelType})`);
  }
  if (file.spacesAreSuffixes) throw new UnknownForm('its spaces belong to the words before them');
  if (!file.escapesSpaces) throw new UnknownForm('its words have spaces as they are');
  if (file.charsmap.length > 0 && file.rules !== KNOWN_RULES) {
    throw new UnknownForm('it replaces characters by rules of its own');
  }
  if (tokenizerClass !== null && OTHERS.test(tokenizerClass)) {
    throw new UnknownForm(`tokens of a ${tokenizerClass} are not those of its file`);
  }
}

function vocabularyOf(file: SentencePieceFile, settings: TextSettings, path: string): Vocabulary {
  const names = new Map(settings.added.map(({ id, content }) => [id, content]));
  const kept = new Set(file.pieces.flatMap(({ text }, id) => (names.has(id) ? [] : [text])));
  // Models give words that were kept free to tokens of chats.
  const tokens = file.pieces.map(({ text }, id) => {
    const name = names.get(id);
    return name === undefined || kept.has(name) ? text : name;
  });
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const own = tokens.flatMap((content, id): AddedToken[] => {
    const kind = file.pieces[id]?.kind;
    return kind === CONTROL || kind === UNKNOWN ? [{ id, content, special: true }] : [];
  });
  const added = allAdded(own, settings, ids).filter(
    ({ id, content }) => (ids.get(content) ?? id) === id,
  );
  requireDistinct(
    [...tokens.map((content, id) => ({ id, content, special: false }))].filter(
      ({ content }) => content !== '',
    ),
    path,
  );
  requireDistinct(added, path);
  const { roles, config } = settings;
  const bos = roles.bos_token ?? tokens[file.bosId] ?? null;
  const marked = new Set(added.map(({ id }) => id));
  return {
    tokens,
    ids,
    unknown: tokens[file.unknownId] ?? null,
    bos,
    eos: roles.eos_token ?? tokens[file.eosId] ?? null,
    addsBos: (config.add_bos_token ?? true) && bos !== null && ids.has(bos),
    addsEos: config.add_eos_token ?? false,
    added,
    isText: (id) => {
      const kind = file.pieces[id]?.kind;
      return (kind === NORMAL || kind === UNUSED) && !marked.has(id);
    },
  };
}

/** Steps around the model: texts are normalized as the file says, and words that a user defined are cut out. */
function stepsOf(
  file: SentencePieceFile,
  { config }: TextSettings,
  userDefined: readonly string[],
) {
  const prefix = prefixOf(file, config);
  const steps = spaceSteps(prefix);
  const isolated = userDefined.length === 0 ? [] : [isolating(userDefined)];
  const cuts = [steps.pre_tokenizer ?? [], isolated].flat();
  const precompiled =
    file.charsmap.length === 0
      ? []
      : [
          {
            type: 'Precompiled',
            precompiled_charsmap: Buffer.from(file.charsmap).toString('base64'),
          },
        ];
  const single = file.removesSpaces
    ? [replaced(String.raw`\A +| +\z`, ''), replaced(' {2,}', ' ')]
    : [];
  // Nothing comes before a text of which nothing is left.
  const prefixed =
    file.removesSpaces && prefix === 'always'
      ? [replaced(String.raw`\A(?=[\s\S])`, '▁'), replaced(' ', '▁')]
      : [steps.normalizer ?? []].flat();
  const normalizers = [...precompiled, ...single, ...prefixed];
  return {
    normalizer: normalizers.length === 0 ? null : { type: 'Sequence', normalizers },
    pre_tokenizer: cuts.length === 0 ? null : { type: 'Sequence', pretokenizers: cuts },
    decoder: steps.decoder,
  };
}

const replaced = (pattern: string, content: string) => ({
  type: 'Replace',
  pattern: { Regex: pattern },
  content,
});

function prefixOf(file: SentencePieceFile, config: TextSettings['config']): SpacePrefix {
  if (!file.addsPrefix || config.add_prefix_space === false) return 'never';
  // Files that do not say are older than the choice.
  return config.legacy === false ? 'first' : 'always';
}

/** The longest word comes first. */
function isolating(words: readonly string[]) {
  const patterns = words.toSorted((a, b) => b.length - a.length).map(escapedPattern);
  return {
    type: 'Split',
    pattern: { Regex: patterns.join('|') },
    behavior: 'Isolated',
    invert: false,
  };
}
