/** Bytes that texts of a grammar may begin with. */
import type { Alternative, Choice, Part, Rule } from './ebnf-tree.ts';
import { codeOfEscape } from './ebnf.ts';

/** A set: a bit for each byte, and one for a text that may be empty. */
export type FirstBytes = bigint;

const NO_TEXT: FirstBytes = 1n << 256n;
const ALL: FirstBytes = NO_TEXT - 1n;
const ASCII: FirstBytes = (1n << 128n) - 1n;
const CHARACTER = /\\x[\dA-Fa-f]{2}|\\u[\dA-Fa-f]{4}|\\U[\dA-Fa-f]{8}|\\?[^]/uy;

export class GrammarFirsts {
  readonly #rules: ReadonlyMap<string, Rule>;
  readonly #ofRules = new Map<string, FirstBytes>();
  readonly #ofGroups = new Map<Choice, FirstBytes>();
  readonly #ofTexts = new Map<string, FirstBytes>();

  constructor(rules: ReadonlyMap<string, Rule>) {
    this.#rules = rules;
    const users = usersOf(rules);
    // Rules may use each other: what one begins with is looked at again whenever another one has more.
    const waiting = new Set(rules.keys());
    for (const name of waiting) {
      waiting.delete(name);
      if (!this.#compute(name)) continue;
      for (const user of users.get(name) ?? []) waiting.add(user);
    }
  }

  /** Whether two of the alternatives may begin with the same byte. */
  overlap({ alternatives }: Choice): boolean {
    let seen = 0n;
    for (const alternative of alternatives) {
      const bytes = this.#ofAlternative(alternative) & ALL;
      if ((seen & bytes) !== 0n) return true;
      seen |= bytes;
    }
    return false;
  }

  /** @returns whether there are more than were known */
  #compute(name: string): boolean {
    let own = 0n;
    for (const choice of this.#rules.get(name)?.choices ?? []) {
      own = choice.alternatives.reduce((all, each) => all | this.#ofAlternative(each), 0n);
      this.#ofGroups.set(choice, own);
    }
    const isMore = own !== (this.#ofRules.get(name) ?? 0n);
    this.#ofRules.set(name, own);
    return isMore;
  }

  #ofAlternative({ parts }: Alternative): FirstBytes {
    let bytes = 0n;
    for (const part of parts) {
      const own = this.#ofPart(part);
      bytes |= own & ALL;
      if (!part.isOptional && (own & NO_TEXT) === 0n) return bytes;
    }
    return bytes | NO_TEXT;
  }

  #ofPart(part: Part): FirstBytes {
    if (part.kind === 'rule') return this.#ofRules.get(part.name) ?? 0n;
    if (part.kind === 'group') return this.#ofGroups.get(part.group) ?? 0n;
    const known = this.#ofTexts.get(part.text) ?? firstBytesOf(part.text);
    this.#ofTexts.set(part.text, known);
    return known;
  }
}

/** By rule, those that name it. */
function usersOf(rules: ReadonlyMap<string, Rule>): ReadonlyMap<string, ReadonlySet<string>> {
  const users = new Map<string, Set<string>>();
  for (const { name, choices } of rules.values()) {
    const parts = choices.flatMap(({ alternatives }) => alternatives.flatMap((each) => each.parts));
    for (const part of parts) {
      if (part.kind !== 'rule') continue;
      const all = users.get(part.name) ?? new Set();
      users.set(part.name, all.add(name));
    }
  }
  return users;
}

/** @param text a literal or a class */
function firstBytesOf(text: string): FirstBytes {
  if (text.startsWith('[')) return bytesOfClass(text);
  const [first] = codesOf(text.slice(1, -1), 1);
  return first === undefined ? NO_TEXT : bit(firstByteOf(first));
}

/** A class names characters of one byte; one that leaves some out has all others of several bytes too. */
function bytesOfClass(text: string): FirstBytes {
  const isNegated = text.startsWith('[^');
  const codes = codesOf(text.slice(isNegated ? 2 : 1, -1), Infinity);
  let bytes = 0n;
  for (let at = 0; at < codes.length; at++) {
    const from = codes[at] ?? 0;
    const isRange = codes[at + 1] === DASH && codes[at + 2] !== undefined;
    const to = isRange ? (codes[at + 2] ?? 0) : from;
    if (isRange) at += 2;
    if (to > 0xff) bytes |= ALL & ~ASCII;
    bytes |= rangeOf(from, Math.min(to, 0xff));
  }
  return isNegated ? ALL & ~(bytes & ASCII) : bytes;
}

/** Written as it is; an escaped one is a character like others. */
const DASH = -1;

function codesOf(text: string, most: number): number[] {
  const codes: number[] = [];
  CHARACTER.lastIndex = 0;
  while (CHARACTER.lastIndex < text.length && codes.length < most) {
    const [character = ''] = CHARACTER.exec(text) ?? [];
    codes.push(character === '-' ? DASH : codeOfEscape(character));
  }
  return codes;
}

function firstByteOf(code: number): number {
  return Buffer.from(String.fromCodePoint(code === DASH ? 0x2d : Math.min(code, 0x10ffff)))[0] ?? 0;
}

function rangeOf(from: number, to: number): FirstBytes {
  const [first, last] = [from, to].map((code) => (code === DASH ? 0x2d : code));
  if (first === undefined || last === undefined || last < first) return 0n;
  return (1n << BigInt(last + 1)) - (1n << BigInt(first));
}

function bit(byte: number): FirstBytes {
  return 1n << BigInt(byte);
}
