/** The structure of a grammar's text, as far as it says which alternatives there are and what they are made of. */
import { EBNF_TEXTS } from './ebnf.ts';

/** Part of an alternative: a literal or a class, the name of a rule, or a group. */
export type Part = (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'rule'; readonly name: string }
  | { readonly kind: 'group'; readonly group: Choice }
) & {
  /** Whether it may be left out. */
  isOptional: boolean;
};

export interface Alternative {
  readonly parts: Part[];
  /** Place in the grammar's text at which its first part begins; 0 without one. */
  start: number;
  /** Place behind its last part. */
  end: number;
}

export interface Choice {
  readonly alternatives: readonly Alternative[];
}

export interface Rule {
  readonly name: string;
  /** All of the rule: those within others come before them, and the rule's own one is the last. */
  readonly choices: readonly Choice[];
}

interface OpenChoice {
  readonly alternatives: [Alternative, ...Alternative[]];
  readonly start: number;
  /** Set for what must follow the rule, and is no part of it. */
  readonly isLookahead: boolean;
}

const TOKENS = new RegExp(
  String.raw`(?<space>\s+|#[^\n]*)|(?<text>${EBNF_TEXTS})|(?<rule>[\w.-]+)\s*::=|(?<name>[\w.-]+)|` +
    String.raw`(?<times>[*+?]|\{[\d,\s]*\})|(?<sign>\(=|[()|])`,
  'y',
);

/** @returns the rules by name; null for a text that has another form */
export function readEbnf(ebnf: string): ReadonlyMap<string, Rule> | null {
  const reader = new EbnfReader();
  TOKENS.lastIndex = 0;
  while (TOKENS.lastIndex < ebnf.length) {
    const start = TOKENS.lastIndex;
    const groups = TOKENS.exec(ebnf)?.groups;
    if (groups === undefined) return null;
    if (groups['space'] !== undefined) continue;
    if (!reader.take(groups, start, TOKENS.lastIndex)) return null;
  }
  return reader.end() ? reader.rules : null;
}

class EbnfReader {
  readonly rules = new Map<string, { name: string; choices: Choice[] }>();
  #choices: Choice[] = [];
  /** The rule's own choice and the groups that are open in it. */
  #open: OpenChoice[] = [];

  /** @returns false for what may not stand there */
  take(groups: Readonly<Record<string, string | undefined>>, start: number, end: number): boolean {
    const { text, rule, name, times, sign } = groups;
    if (rule !== undefined) return this.#begin(rule, end);
    if (text !== undefined) return this.#add({ kind: 'text', text, isOptional: false }, start, end);
    if (name !== undefined) return this.#add({ kind: 'rule', name, isOptional: false }, start, end);
    if (times !== undefined) return this.#repeat(times, end);
    if (sign === '|') return this.#next();
    if (sign === ')') return this.#close(end);
    if (this.#open.length === 0) return false;
    this.#open.push(openChoice(start, sign === '(='));
    return true;
  }

  /** Ends the last rule. */
  end(): boolean {
    const [own] = this.#open;
    if (own) this.#choices.push(own);
    return this.#open.length <= 1;
  }

  #begin(name: string, at: number): boolean {
    if (!this.end() || this.rules.has(name)) return false;
    this.#choices = [];
    this.#open = [openChoice(at, false)];
    this.rules.set(name, { name, choices: this.#choices });
    return true;
  }

  #add(part: Part, start: number, end: number): boolean {
    const alternative = this.#open.at(-1)?.alternatives.at(-1);
    if (alternative === undefined) return false;
    if (alternative.parts.length === 0) alternative.start = start;
    alternative.parts.push(part);
    alternative.end = end;
    return true;
  }

  #repeat(times: string, end: number): boolean {
    const alternative = this.#open.at(-1)?.alternatives.at(-1);
    const last = alternative?.parts.at(-1);
    if (alternative === undefined || last === undefined) return false;
    last.isOptional ||= /^(?:[*?]|\{\s*0)/.test(times);
    alternative.end = end;
    return true;
  }

  #next(): boolean {
    return (this.#open.at(-1)?.alternatives.push(newAlternative()) ?? 0) > 0;
  }

  #close(end: number): boolean {
    const group = this.#open.pop();
    if (group === undefined || this.#open.length === 0) return false;
    if (group.isLookahead) return true;
    this.#choices.push(group);
    return this.#add({ kind: 'group', group, isOptional: false }, group.start, end);
  }
}

function newAlternative(): Alternative {
  return { parts: [], start: 0, end: 0 };
}

function openChoice(start: number, isLookahead: boolean): OpenChoice {
  return { alternatives: [newAlternative()], start, isLookahead };
}
