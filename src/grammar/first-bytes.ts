/** Bytes that texts of a grammar may begin with. */
import type { Alternative, Choice, Part, Rule } from './ebnf-tree.ts';
import { codeOfEscape } from './ebnf.ts';

/** A set: a bit for each byte. */
export type FirstBytes = bigint;

const ALL: FirstBytes = (1n << 256n) - 1n;
const ASCII: FirstBytes = (1n << 128n) - 1n;
const CHARACTER = /\\x[\dA-Fa-f]{2}|\\u[\dA-Fa-f]{4}|\\U[\dA-Fa-f]{8}|\\?[^]/uy;

/** Rounds in which rules are asked whether they may be empty; then all are taken to be so that others name. */
const MAX_ROUNDS = 8;

export class GrammarFirsts {
  readonly #rules: ReadonlyMap<string, Rule>;
  /** Choices that may be empty, by as many rounds as there were. */
  readonly #empty = new Set<Choice>();
  readonly #ofChoices = new Map<Choice, FirstBytes>();
  readonly #ofTexts = new Map<string, FirstBytes>();
  #isNameEmpty = false;

  constructor(rules: ReadonlyMap<string, Rule>) {
    this.#rules = rules;
    const choices = [...rules.values()].flatMap((rule) => rule.choices);
    this.#findEmpty(choices);
    this.#findFirsts(choices);
  }

  /** Whether two of the alternatives may begin with the same byte. */
  overlap({ alternatives }: Choice): boolean {
    let seen = 0n;
    for (const alternative of alternatives) {
      let own = 0n;
      for (const part of this.#firstsOf(alternative)) own |= this.#ofPart(part);
      if ((seen & own) !== 0n) return true;
      seen |= own;
    }
    return false;
  }

  #findEmpty(choices: readonly Choice[]): void {
    const isEmpty = (part: Part) => this.#mayBeEmpty(part);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const before = this.#empty.size;
      for (const choice of choices) {
        if (choice.alternatives.some(({ parts }) => parts.every(isEmpty))) this.#empty.add(choice);
      }
      if (this.#empty.size === before) return;
    }
    this.#isNameEmpty = true;
    for (const choice of choices) {
      if (choice.alternatives.some(({ parts }) => parts.every(isEmpty))) this.#empty.add(choice);
    }
  }

  /** A choice that has more gives it to those that it may begin, each of which is told once. */
  #findFirsts(choices: readonly Choice[]): void {
    const users = new Map<Choice, Set<Choice>>();
    for (const choice of choices) {
      let own = 0n;
      for (const part of choice.alternatives.flatMap((each) => this.#firstsOf(each))) {
        const used = this.#choiceOf(part);
        if (used === undefined) own |= this.#ofPart(part);
        else users.set(used, (users.get(used) ?? new Set()).add(choice));
      }
      this.#ofChoices.set(choice, own);
    }
    const waiting = new Set(choices);
    for (const choice of waiting) {
      waiting.delete(choice);
      const bytes = this.#ofChoices.get(choice) ?? 0n;
      for (const user of users.get(choice) ?? []) {
        const before = this.#ofChoices.get(user) ?? 0n;
        if ((before | bytes) === before) continue;
        this.#ofChoices.set(user, before | bytes);
        waiting.add(user);
      }
    }
  }

  /** Parts that it may begin with. */
  #firstsOf({ parts }: Alternative): readonly Part[] {
    const behind = parts.findIndex((part) => !this.#mayBeEmpty(part));
    return behind === -1 ? parts : parts.slice(0, behind + 1);
  }

  #mayBeEmpty(part: Part): boolean {
    if (part.isOptional) return true;
    if (part.kind === 'text') return part.text === '""';
    if (part.kind === 'rule' && this.#isNameEmpty) return true;
    const choice = this.#choiceOf(part);
    return choice !== undefined && this.#empty.has(choice);
  }

  #choiceOf(part: Part): Choice | undefined {
    if (part.kind === 'group') return part.group;
    return part.kind === 'rule' ? this.#rules.get(part.name)?.choices.at(-1) : undefined;
  }

  #ofPart(part: Part): FirstBytes {
    if (part.kind !== 'text') {
      const choice = this.#choiceOf(part);
      return (choice && this.#ofChoices.get(choice)) ?? 0n;
    }
    const known = this.#ofTexts.get(part.text) ?? firstBytesOf(part.text);
    this.#ofTexts.set(part.text, known);
    return known;
  }
}

/** @param text a literal or a class */
function firstBytesOf(text: string): FirstBytes {
  if (text.startsWith('[')) return bytesOfClass(text);
  const [first] = codesOf(text.slice(1, -1), 1);
  return first === undefined ? 0n : bit(firstByteOf(first));
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
