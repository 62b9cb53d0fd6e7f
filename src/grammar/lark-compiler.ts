/**
 * Grammars in Lark's notation to EBNF, character by character: a text is one of them if its rules can be
 * put together from terminals in any way. Priorities, aliases and the like, which choose one of several
 * ways, change nothing.
 */
import { LIMITS } from '../limits.ts';
import { told } from '../told.ts';
import { anyOf, type EbnfRules, repeat } from './ebnf.ts';
import { ignoringCase } from './ignoring-case.ts';
import { larkFault } from './lark-lexer.ts';
import {
  isTerminal,
  type LarkDefinition,
  type LarkGrammar,
  type LarkPart,
  parseLark,
} from './lark-parser.ts';
import { regexToEbnf } from './regex-parser.ts';
import type { CharacterRules } from './regex-tree.ts';

const START = 'start';

/**
 * An expression for the texts of `start`, with the rules it needs.
 * @throws GrammarError saying what of the grammar is wrong, not supported or too much
 */
export function larkToEbnf(text: string, rules: EbnfRules, characters: CharacterRules): string {
  return new LarkCompiler(parseLark(text), rules, characters).compile();
}

class LarkCompiler {
  readonly #grammar: LarkGrammar;
  readonly #rules: EbnfRules;
  readonly #characters: CharacterRules;
  /** By the name in Lark, in the order of their first use. */
  readonly #names = new Map<string, string>();
  /** Rule for ignored text after a terminal; empty if the grammar ignores none. */
  #ignored = '';
  /** Numbers of repetitions, added up. */
  #numRepeats = 0;

  constructor(grammar: LarkGrammar, rules: EbnfRules, characters: CharacterRules) {
    this.#grammar = grammar;
    this.#rules = rules;
    this.#characters = characters;
  }

  compile(): string {
    const start = this.#reference(START, 1);
    const { ignored } = this.#grammar;
    if (ignored.length > 0) {
      const each = anyOf(ignored.map((part) => this.#part(part, true, 1)));
      this.#ignored = ` ${this.#rules.add(`(${each})*`)}`;
    }
    // Those that are named here are appended.
    for (const [name, rule] of this.#names) {
      const { part, line } = this.#definition(name, 1);
      this.#rules.set(rule, this.#part(part, isTerminal(name), line));
    }
    this.#requireNoCircles();
    this.#requireTexts();
    return `${this.#ignored} ${start}`.trim();
  }

  #definition(name: string, line: number): LarkDefinition {
    const definition = this.#grammar.definitions.get(name);
    if (definition !== undefined) return definition;
    throw larkFault(line, `\`${told(name, 40)}\` is not defined`);
  }

  #reference(name: string, line: number): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    this.#definition(name, line);
    const rule = this.#rules.reserve();
    this.#names.set(name, rule);
    return rule;
  }

  /** @param isInTerminal nothing is ignored there */
  #part(part: LarkPart, isInTerminal: boolean, line: number): string {
    const after = isInTerminal ? '' : this.#ignored;
    const characters = this.#characters;
    switch (part.kind) {
      case 'text': {
        if (part.text === '') return '""';
        const one = part.ignoresCase ? ignoringCase(characters) : characters;
        return one.text(part.text) + after;
      }
      case 'regex':
        return this.#regex(part.pattern, part.flags, line) + after;
      case 'range':
        return characters.class([[part.from, part.to]], false) + after;
      case 'name': {
        if (isInTerminal && !isTerminal(part.name)) {
          throw larkFault(line, `a terminal cannot have the rule \`${told(part.name, 40)}\` in it`);
        }
        return this.#reference(part.name, line) + (isTerminal(part.name) ? after : '');
      }
      case 'sequence': {
        const parts = part.parts.map((each) => this.#part(each, isInTerminal, line));
        return parts.length === 0 ? '""' : parts.join(' ');
      }
      case 'choice':
        return anyOf(part.parts.map((each) => this.#part(each, isInTerminal, line)));
      case 'repeat': {
        const { min, max } = part;
        this.#numRepeats += max ?? min;
        if (this.#numRepeats > LIMITS.grammarRegexSize) {
          const limit = LIMITS.grammarRegexSize;
          throw larkFault(line, `repetitions come to more than ${limit} together`);
        }
        return repeat(this.#rules.shorten(this.#part(part.part, isInTerminal, line)), min, max);
      }
    }
  }

  #regex(pattern: string, flags: string, line: number): string {
    const unknown = Array.from(flags).find((flag) => !'isu'.includes(flag));
    if (unknown !== undefined) throw larkFault(line, `the flag \`${unknown}\` is not supported`);
    const characters = flags.includes('i') ? ignoringCase(this.#characters) : this.#characters;
    const options = { dotIsAny: flags.includes('s'), isPart: true };
    try {
      return `(${regexToEbnf(pattern, characters, options)})`;
    } catch (error) {
      throw larkFault(line, error instanceof Error ? error.message : String(error));
    }
  }

  /** As Lark has it: rules recurse, and terminals do not. */
  #requireNoCircles(): void {
    const done = new Set<string>();
    const visit = (name: string, depth: number): void => {
      if (done.has(name)) return;
      const { part, line } = this.#definition(name, 1);
      if (depth > LIMITS.grammarDepth) {
        const limit = LIMITS.grammarDepth;
        throw larkFault(line, `terminals lead in circles, or through more than ${limit} others`);
      }
      for (const each of namesIn(part)) visit(each, depth + 1);
      done.add(name);
    };
    for (const name of this.#names.keys()) if (isTerminal(name)) visit(name, 0);
  }

  /** A rule whose texts never end would leave a model no way out. */
  #requireTexts(): void {
    const ending = new Set<string>();
    const ends = (part: LarkPart): boolean => {
      switch (part.kind) {
        case 'text':
        case 'regex':
        case 'range':
          return true;
        case 'name':
          return ending.has(part.name);
        case 'sequence':
          return part.parts.every(ends);
        case 'choice':
          return part.parts.some(ends);
        case 'repeat':
          return part.min === 0 || ends(part.part);
      }
    };
    let left = [...this.#names.keys()];
    for (let numLeft = -1; numLeft !== left.length;) {
      numLeft = left.length;
      // From the other end each time: parts may be defined before or after what they are parts of.
      left = left.toReversed().filter((name) => {
        if (!ends(this.#definition(name, 1).part)) return true;
        ending.add(name);
        return false;
      });
    }
    const [name] = left;
    if (name === undefined) return;
    const { line } = this.#definition(name, 1);
    throw larkFault(line, `the texts of \`${told(name, 40)}\` never end`);
  }
}

function* namesIn(part: LarkPart): Generator<string> {
  if (part.kind === 'name') yield part.name;
  else if (part.kind === 'repeat') yield* namesIn(part.part);
  else if ('parts' in part) for (const each of part.parts) yield* namesIn(each);
}
