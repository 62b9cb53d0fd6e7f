/** Reads literals as Python and Gemma write them, and gives them out as JSON. */
import { type Characters, NO_CALL, type Steps } from './characters.ts';

/** Lists and objects in each other. */
const MAX_DEPTH = 64;
/** Length of a number or a word. */
const MAX_WORD_LENGTH = 100;

/** Python's words for those of JSON, which models write at times. */
export const PYTHON_WORDS: ReadonlyMap<string, string> = new Map([
  ['True', 'true'],
  ['False', 'false'],
  ['None', 'null'],
]);
const WORDS: ReadonlyMap<string, string> = new Map([
  ...PYTHON_WORDS,
  ['true', 'true'],
  ['false', 'false'],
  ['null', 'null'],
]);
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;
const ESCAPES = 'nrtbf"\\/';

/**
 * Reads one literal.
 * @param quote around strings that have no escapes; strings of Python are read in any case
 * @param give takes its JSON in pieces
 * @throws NoCallError
 */
export function* readLiteral(
  characters: Characters,
  quote: string | null,
  give: (json: string) => void,
): Steps<void> {
  const open: string[] = [];
  for (;;) {
    const start = yield* characters.takeSolid();
    if (start === '[' || start === '{') {
      if (open.length === MAX_DEPTH) throw NO_CALL;
      give(start);
      open.push(start === '[' ? ']' : '}');
      const next = yield* characters.takeSolid();
      characters.putBack(next);
      if (next !== open.at(-1)) {
        if (start === '{') yield* readKey(characters, quote, give);
        continue;
      }
    } else yield* readScalar(characters, start, quote, give);
    let isNext = false;
    while (open.length > 0 && !isNext) {
      const next = yield* characters.takeSolid();
      isNext = next === ',';
      if (!isNext && next !== open.pop()) throw NO_CALL;
      give(isNext ? ', ' : next);
    }
    if (!isNext) return;
    if (open.at(-1) === '}') yield* readKey(characters, quote, give);
  }
}

/** A key in quotes, or as it is where strings have quotes of their own; with the colon. */
function* readKey(
  characters: Characters,
  quote: string | null,
  give: (json: string) => void,
): Steps<void> {
  const start = yield* characters.takeSolid();
  if (start === '"' || start === "'" || start === quote?.[0]) {
    yield* readString(characters, start, quote, give);
    yield* characters.pass(':');
  } else {
    if (quote === null) throw NO_CALL;
    characters.putBack(start);
    const key = yield* characters.name(':,{}[]');
    give(JSON.stringify(key));
    yield* characters.pass(':');
  }
  give(': ');
}

function* readScalar(
  characters: Characters,
  start: string,
  quote: string | null,
  give: (json: string) => void,
): Steps<void> {
  if (start === '"' || start === "'" || start === quote?.[0]) {
    yield* readString(characters, start, quote, give);
    return;
  }
  let word = '';
  let character = start;
  while (/[\w.+-]/.test(character)) {
    word += character;
    if (word.length > MAX_WORD_LENGTH) throw NO_CALL;
    character = yield* characters.take();
  }
  characters.putBack(character);
  const json = WORDS.get(word) ?? (NUMBER.test(word) ? word : null);
  if (json === null) throw NO_CALL;
  give(json);
}

function* readString(
  characters: Characters,
  start: string,
  quote: string | null,
  give: (json: string) => void,
): Steps<void> {
  give('"');
  if (start === quote?.[0]) {
    characters.putBack(start);
    yield* characters.pass(quote);
    yield* characters.until(quote, (text) => give(inJsonString(text)));
  } else {
    for (;;) {
      const character = yield* characters.take();
      if (character === start) break;
      if (character === '\\') yield* readEscape(characters, give);
      else give(inJsonString(character));
    }
  }
  give('"');
}

function* readEscape(characters: Characters, give: (json: string) => void): Steps<void> {
  const kind = yield* characters.take();
  if (kind === 'u' || kind === 'x') {
    let digits = kind === 'u' ? '' : '00';
    while (digits.length < 4) digits += yield* characters.take();
    if (!/^[\da-fA-F]{4}$/.test(digits)) throw NO_CALL;
    give(`\\u${digits}`);
  } else if (ESCAPES.includes(kind)) give(`\\${kind}`);
  else if (kind === "'") give(kind);
  // A backslash at the end of a line joins it with the next; before all else it is one.
  else if (kind !== '\n') give(`\\\\${inJsonString(kind)}`);
}

/** As it stands between the quotes of a JSON string. A half of a pair stays one. */
export function inJsonString(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/["\\\u0000-\u001f]/g, (each) => JSON.stringify(each).slice(1, -1));
}
