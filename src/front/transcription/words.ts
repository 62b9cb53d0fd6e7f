/** Words of tokens, as Transformers and openai-whisper have them. */

/** Part of a text. */
export interface TokenWord {
  readonly text: string;
  /** Places of its tokens: from the first, and up to the one behind the last. */
  readonly start: number;
  readonly end: number;
}

const PREPENDED = '"\'“¡¿([{-';
const APPENDED = '"\'.。,，!！?？:：”)]}、';
const PUNCTUATION = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~';
/** Codes of languages that are written without spaces. */
const UNSPACED: ReadonlySet<string> = new Set(['zh', 'ja', 'th', 'lo', 'my', 'yue']);
const INCOMPLETE = '\u{fffd}';

type Decode = (tokens: readonly number[]) => string;

/**
 * @param tokens of a text, without special ones
 * @param language code
 */
export function splitWords(
  tokens: readonly number[],
  language: string,
  decode: Decode,
): readonly TokenWord[] {
  const characters = splitCharacters(tokens, decode);
  const words = UNSPACED.has(language) ? characters : joinSpaced(characters);
  return withAppended(withPrepended(words));
}

/** The fewest tokens each that are whole characters. */
function splitCharacters(tokens: readonly number[], decode: Decode): readonly TokenWord[] {
  const all = decode(tokens);
  const found: TokenWord[] = [];
  let [start, offset] = [0, 0];
  for (let end = 1; end <= tokens.length; end++) {
    const text = decode(tokens.slice(start, end));
    const hole = text.indexOf(INCOMPLETE);
    const isWhole = hole < 0 || offset + hole >= all.length || all[offset + hole] === INCOMPLETE;
    if (!isWhole) continue;
    found.push({ text, start, end });
    start = end;
    offset += text.length;
  }
  return found;
}

function joinSpaced(parts: readonly TokenWord[]): readonly TokenWord[] {
  const words: TokenWord[] = [];
  for (const part of parts) {
    const last = words.at(-1);
    const begins = part.text.startsWith(' ') || PUNCTUATION.includes(part.text.trim());
    if (last === undefined || begins) words.push(part);
    else words.splice(-1, 1, joined(last, part));
  }
  return words;
}

/** Quotes and brackets before a word belong to it. */
function withPrepended(words: readonly TokenWord[]): readonly TokenWord[] {
  const kept: TokenWord[] = [];
  for (const word of words.toReversed()) {
    const next = kept[0];
    const opens = word.text.startsWith(' ') && PREPENDED.includes(word.text.trim());
    if (next !== undefined && opens) kept.splice(0, 1, joined(word, next));
    else kept.unshift(word);
  }
  return kept;
}

function withAppended(words: readonly TokenWord[]): readonly TokenWord[] {
  const kept: TokenWord[] = [];
  for (const word of words) {
    const last = kept.at(-1);
    const closes = last !== undefined && !last.text.endsWith(' ') && APPENDED.includes(word.text);
    if (closes) kept.splice(-1, 1, joined(last, word));
    else kept.push(word);
  }
  return kept;
}

function joined(first: TokenWord, second: TokenWord): TokenWord {
  return { text: first.text + second.text, start: first.start, end: second.end };
}
