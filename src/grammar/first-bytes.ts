/** Bytes that texts of a grammar may begin with. */
import { firstOfLiteral, rangesOfClass } from './class-ranges.ts';
import type { Alternative, Choice, Part, Rule } from './ebnf-tree.ts';

/** A set: a bit for each byte. */
export type FirstBytes = bigint;

const ALL: FirstBytes = (1n << 256n) - 1n;
const ASCII: FirstBytes = (1n << 128n) - 1n;

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
    for (let round = 0; ; round++) {
      this.#isNameEmpty = round === MAX_ROUNDS;
      const before = this.#empty.size;
      for (const choice of choices) {
        const isEmpty = ({ parts }: Alternative) => parts.every((part) => this.#mayBeEmpty(part));
        if (choice.alternatives.some(isEmpty)) this.#empty.add(choice);
      }
      if (this.#isNameEmpty || this.#empty.size === before) return;
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
  if (text === '""') return 0n;
  const first = firstOfLiteral(text);
  return first === null ? ALL : bit(firstByteOf(first));
}

/** A class names characters of one byte; one that leaves some out has all others of several bytes too. */
function bytesOfClass(text: string): FirstBytes {
  const read = rangesOfClass(text);
  if (read === null) return ALL;
  let bytes = 0n;
  for (const [from, to] of read.ranges) {
    if (to > 0xff) bytes |= ALL & ~ASCII;
    if (from <= 0xff) bytes |= bytesBetween(from, Math.min(to, 0xff));
  }
  return read.isNegated ? ALL & ~(bytes & ASCII) : bytes;
}

/** UTF-8's. */
function firstByteOf(code: number): number {
  return Buffer.from(String.fromCodePoint(Math.min(code, 0x10ffff)))[0] ?? 0;
}

function bytesBetween(first: number, last: number): FirstBytes {
  return (1n << BigInt(last + 1)) - (1n << BigInt(first));
}

function bit(byte: number): FirstBytes {
  return 1n << BigInt(byte);
}
