/** Tools drawn from a seed: custom ones with a grammar in Lark or a regular expression, and strict functions. */
import type { TextGrammar } from '../../src/grammar/grammar-source.ts';

export interface DrawnTool {
  readonly name: string;
  readonly kind: 'lark' | 'regex' | 'strict';
  /** Grammar of custom tools. */
  readonly input?: TextGrammar;
  /** Schema of strict functions. */
  readonly parameters?: object;
  /** Whether a text, or the JSON of arguments, is as it should be; by other means than a grammar. */
  readonly isRight: (text: string) => boolean;
}

const LETTERS = Array.from('abcXYZ019_-+*/=<>"\'\\ {}[]():;,.\n\t');
const WORDS = ['if ', '*** Begin', '"key": ', '</b>', '\\n', '{', '}', 'x = ', 'END', '\n', '\t'];

export class Draws {
  #state: number;

  constructor(seed: number) {
    this.#state = seed * 2_654_435_761 + 1;
  }

  below(count: number): number {
    this.#state = (Math.imul(this.#state ^ (this.#state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((this.#state ^ (this.#state >>> 13)) >>> 0) % count;
  }

  of<Value>(values: readonly Value[]): Value {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new Error('nothing to draw from');
    return value;
  }
}

export function drawTool(seed: number): DrawnTool {
  const draws = new Draws(seed);
  const kind = draws.of(['lark', 'lark', 'regex', 'strict'] as const);
  const name = `tool_${seed}`;
  if (kind === 'strict') return { name, kind, ...drawSchema(draws) };
  if (kind === 'regex') {
    const definition = drawPattern(draws, 3);
    const whole = new RegExp(`^(?:${definition})$`, 'u');
    const input = { syntax: kind, definition };
    return { name, kind, input, isRight: (text) => whole.test(text) };
  }
  return { name, kind, ...drawLark(draws) };
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

const inPattern = (text: string): string =>
  escaped(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');

/** Where many characters may follow, texts that are drawn at random do not end soon: those are rare. */
function drawClass(draws: Draws): string {
  const letters = Array.from({ length: 1 + draws.below(4) }, () => draws.of(LETTERS));
  const some = [...new Set(letters)].map(inPattern).join('');
  if (draws.below(8) === 0)
    return draws.of([`[^${some}\\n]`, '.', '\\w']) + draws.of(['', '?', '{2}']);
  return draws.of([`[${some}]`, '\\d', '[a-f]']) + drawCount(draws);
}

const drawCount = (draws: Draws): string => draws.of(['', '', '?', '*', '+', '{2}', '{1,3}']);

/** Never of no length, which Lark would not take for a terminal. */
function drawPattern(draws: Draws, depth: number): string {
  const count = 1 + draws.below(3);
  const parts = Array.from({ length: count }, () => {
    if (depth > 0 && draws.below(3) === 0) {
      const alternatives = Array.from({ length: 2 }, () => drawPattern(draws, depth - 1));
      return `(${alternatives.join('|')})${draws.of(['', '?', '{2}', '{1,3}', '*'])}`;
    }
    return draws.below(3) === 0 ? inPattern(draws.of(WORDS)) : drawClass(draws);
  });
  return `${parts.join('')}${inPattern(draws.of(['.', ';', 'z']))}`;
}

/** A part of a grammar: as Lark has it, and as a regular expression. */
interface Part {
  readonly lark: string;
  readonly pattern: string;
}

/** Rules that have later ones in them, and no others: what they come to is a regular expression. */
function drawLark(draws: Draws): Pick<DrawnTool, 'input' | 'isRight'> {
  const lines: string[] = [];
  const ignored = draws.below(4) === 0 ? '[ ]' : '';
  const after = ignored === '' ? '' : `${ignored}*`;
  const patterns = new Map<string, string>();
  const reference = (names: readonly string[]): Part => {
    const name = draws.of(names);
    return { lark: name, pattern: `(?:${patterns.get(name) ?? ''})` };
  };
  const terminals = ['A', 'B', 'C'];
  for (const name of terminals) {
    const pattern = drawPattern(draws, 1);
    lines.push(`${name}: /${pattern}/`);
    patterns.set(name, `(?:${pattern})${after}`);
  }
  const string = (): Part => {
    const text = draws.of(WORDS);
    return { lark: JSON.stringify(text), pattern: `(?:${inPattern(text)})${after}` };
  };
  const rules = ['r3', 'r2', 'r1', 'start'];
  for (const [index, name] of rules.entries()) {
    const known = rules.slice(0, index);
    const item = (depth: number): Part => {
      const kind = draws.below(depth > 0 ? 6 : 4);
      if (kind === 0) return string();
      if (kind <= 2) return reference(terminals);
      if (kind === 3) return known.length === 0 ? string() : reference(known);
      const inside = choice(depth - 1);
      const mark = draws.of(['?', '*', '+', '~2', '~1..2']);
      const count = { '~2': '{2}', '~1..2': '{1,2}' }[mark] ?? mark;
      return { lark: `(${inside.lark})${mark}`, pattern: `(?:${inside.pattern})${count}` };
    };
    const sequence = (depth: number): Part => {
      const items = Array.from({ length: 1 + draws.below(2) }, () => item(depth));
      const join = (key: keyof Part, by: string): string => items.map((each) => each[key]).join(by);
      return { lark: join('lark', ' '), pattern: join('pattern', '') };
    };
    const choice = (depth: number): Part => {
      const all = Array.from({ length: 1 + draws.below(2) }, () => sequence(depth));
      const join = (key: keyof Part): string => all.map((each) => each[key]).join('|');
      return { lark: join('lark'), pattern: `(?:${join('pattern')})` };
    };
    const drawn = choice(1);
    lines.push(`${name}: ${drawn.lark}`);
    patterns.set(name, drawn.pattern);
  }
  if (ignored !== '') lines.push(`%ignore /${ignored}/`);
  const whole = new RegExp(`^${after}(?:${patterns.get('start') ?? ''})$`, 'u');
  const input = { syntax: 'lark' as const, definition: lines.join('\n') };
  return { input, isRight: (text) => whole.test(text) };
}

function drawSchema(draws: Draws): Pick<DrawnTool, 'parameters' | 'isRight'> {
  const checks: Record<string, (value: unknown) => boolean> = {};
  const properties: Record<string, object> = {};
  for (let index = 0; index < 1 + draws.below(4); index++) {
    const key = `p${index}`;
    const max = 1 + draws.below(50);
    const [schema, check] = draws.of<readonly [object, (value: unknown) => boolean]>([
      [{ type: 'integer', minimum: 0, maximum: max }, (value) => Number(value) <= max],
      [{ type: 'boolean' }, (value) => typeof value === 'boolean'],
      [{ enum: ['km', 'mi'] }, (value) => value === 'km' || value === 'mi'],
      [{ type: 'string', maxLength: 8 }, (value) => typeof value === 'string'],
      [{ type: 'array', items: { type: 'boolean' }, maxItems: 3 }, Array.isArray],
    ]);
    properties[key] = schema;
    checks[key] = check;
  }
  const required = Object.keys(properties);
  const parameters = { type: 'object', properties, required, additionalProperties: false };
  const isRight = (text: string): boolean => {
    const value = JSON.parse(text) as Record<string, unknown>;
    const keys = Object.keys(value);
    return (
      keys.length === required.length && required.every((key) => checks[key]?.(value[key]) === true)
    );
  };
  return { parameters, isRight };
}
