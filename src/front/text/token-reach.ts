import { z } from 'zod';

/**
 * By how much a normalizer may shorten a text: composition makes one character out of up to four.
 */
const COMPOSED = 4;

const NUM_BYTES = 256;

const normalizer = z.looseObject({
  type: z.string(),
  normalizers: z.array(z.unknown()).optional(),
  pattern: z.looseObject({ String: z.string().optional() }).optional(),
  content: z.string().optional(),
});

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const preTokenizer = z.looseObject({
  type: z.string(),
  pretokenizers: z.array(z.unknown()).optional(),
  behavior: z.string().optional(),
});

const model = z.looseObject({
  type: z.string(),
  // Up to 250,000 tokens, whose ids do not matter here: looking at each takes a tenth of a second.
  vocab: z.custom<Readonly<Record<string, unknown>>>(isRecord),
  unk_token: z.string().nullish(),
  byte_fallback: z.boolean().nullish(),
});

const addedToken = z.looseObject({
  content: z.string(),
  lstrip: z.boolean().nullish(),
  rstrip: z.boolean().nullish(),
});

const tokenizerFile = z.looseObject({
  model,
  added_tokens: z.array(addedToken),
  normalizer: z.unknown(),
  pre_tokenizer: z.unknown(),
});

/**
 * The most characters (UTF-16 units) that one token can cover, or more; Infinity where characters
 * may be left out, so that there is no bound. With it, a text's length gives the fewest tokens that
 * it can have.
 * @param file the content of tokenizer.json
 */
export function maxTokenCharacters(file: unknown): number {
  const parsed = tokenizerFile.safeParse(file);
  if (!parsed.success) return Infinity;
  const { model: bpe, added_tokens: added, ...steps } = parsed.data;
  if (added.some(({ lstrip, rstrip }) => lstrip === true || rstrip === true)) return Infinity;
  const isByteLevel = hasByteLevel(steps.pre_tokenizer);
  if (bpe.type !== 'BPE' || !keepsAll(bpe, isByteLevel) || !partsOnly(steps.pre_tokenizer)) {
    return Infinity;
  }
  let longest = 1;
  // A byte-level token has a character for each byte, which is at least one for each UTF-16 unit.
  for (const token of Object.keys(bpe.vocab)) longest = Math.max(longest, token.length);
  for (const { content } of added) longest = Math.max(longest, content.length);
  return longest * shorteningBy(steps.normalizer);
}

/** Whether a character that is not in the vocabulary still gives tokens. */
function keepsAll(
  { vocab, unk_token, byte_fallback }: z.infer<typeof model>,
  isByteLevel: boolean,
) {
  if (typeof unk_token === 'string' && vocab[unk_token] !== undefined) return true;
  const names = Object.keys(vocab);
  if (byte_fallback === true) {
    return names.filter((name) => /^<0x[0-9A-F]{2}>$/.test(name)).length === NUM_BYTES;
  }
  return isByteLevel && names.filter((name) => name.length === 1).length >= NUM_BYTES;
}

function hasByteLevel(value: unknown): boolean {
  const step = preTokenizer.safeParse(value).data;
  return step?.type === 'ByteLevel' || (step?.pretokenizers ?? []).some(hasByteLevel);
}

/** Whether pre-tokenizers only split a text and leave nothing out. */
function partsOnly(value: unknown): boolean {
  if (value === null) return true;
  const step = preTokenizer.safeParse(value).data;
  switch (step?.type) {
    case undefined:
      return false;
    case 'Sequence':
      return (step.pretokenizers ?? []).every(partsOnly);
    case 'Split':
    case 'Punctuation':
      return step.behavior !== 'Removed';
    case 'ByteLevel':
    case 'Digits':
    case 'Metaspace':
      return true;
    default:
      return false;
  }
}

/** How many characters of a text can become one at most. */
function shorteningBy(value: unknown): number {
  if (value === null) return 1;
  const step = normalizer.safeParse(value).data;
  switch (step?.type) {
    case undefined:
      return Infinity;
    case 'Sequence':
      return (step.normalizers ?? []).reduce<number>((by, next) => by * shorteningBy(next), 1);
    case 'Prepend':
      return 1;
    case 'NFC':
    case 'NFD':
    case 'NFKC':
    case 'NFKD':
      return COMPOSED;
    case 'Replace': {
      const from = step.pattern?.String;
      const to = step.content ?? '';
      return from === undefined || to === '' ? Infinity : Math.max(1, from.length / to.length);
    }
    default:
      return Infinity;
  }
}
