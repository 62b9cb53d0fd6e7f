/** Texts without a marker, as EBNF. */
import { characterClass } from './character-class.ts';
import { literal } from './ebnf.ts';

/** A marker whose first character is nowhere else in it. */
export class MarkerEbnf {
  readonly #characters: readonly string[];
  /** Some of its beginning, but not all. */
  readonly prefix: string;

  constructor(marker: string) {
    this.#characters = Array.from(marker);
    const [first = '', ...rest] = this.#characters.slice(0, -1);
    const more = rest.reduceRight((tail, each) => `(${literal(each)} ${tail})?`, '""');
    this.prefix = first === '' ? '""' : `${literal(first)} ${more}`;
  }

  /** Any text without it. */
  textWithout(): string {
    const [first = ''] = this.#characters;
    const other = `${not([first])}*`;
    if (this.#characters.length === 1) return other;
    const start = `(${this.prefix})*`;
    // Only a class of characters repeats at no cost. Where the beginning comes again, it may yet be completed.
    return `${other} (${start} ${this.#broken([first])} ${other})* ${start}`;
  }

  /** One character that neither it nor anything else begins with, or so much of it that it is none. */
  startsOtherwise(others: readonly string[]): string {
    const [first = ''] = this.#characters;
    return `(${not([first, ...others])} | ${this.#broken([])})`;
  }

  /** Its beginning, and then what does not complete it. @param others characters that do not follow */
  #broken(others: readonly string[]): string {
    const [first = '', ...rest] = this.#characters;
    const after = rest.reduceRight((tail, each) => {
      const other = not([each, ...others]);
      return tail === '' ? other : `(${other} | ${literal(each)} ${tail})`;
    }, '');
    return `${literal(first)} ${after}`;
  }
}

function not(characters: readonly string[]): string {
  const codes = characters.map((each) => each.codePointAt(0) ?? 0);
  return characterClass(
    codes.map((code) => [code, code]),
    true,
  );
}
