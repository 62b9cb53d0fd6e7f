import { randomBytes } from 'node:crypto';

const INDEX_DIGITS = 6;

/** Random word of letters and digits, so that it passes templates, JSON and normalizers unchanged. */
export function secretWord(): string {
  return `q${randomBytes(16).toString('hex')}z`;
}

/** Other words for some texts, which nobody can guess. */
export class SecretSpelling {
  /** Word by text. */
  readonly words: ReadonlyMap<string, string>;
  readonly #texts: readonly string[];
  readonly #textPattern: RegExp | null;
  readonly #wordPattern: RegExp;

  constructor(texts: readonly string[]) {
    const secret = secretWord();
    this.#texts = texts;
    this.words = new Map(
      texts.map((text, index) => [text, `${secret}${String(index).padStart(INDEX_DIGITS, '0')}z`]),
    );
    this.#textPattern = anyOf(texts);
    this.#wordPattern = new RegExp(`${secret}(\\d{${INDEX_DIGITS}})z`, 'g');
  }

  /** `text` with the words in place of their texts. */
  hide(text: string): string {
    if (this.#textPattern === null) return text;
    return text.replace(this.#textPattern, (found) => this.words.get(found) ?? found);
  }

  /** `text` with the texts in place of their words. */
  show(text: string): string {
    return text.replace(this.#wordPattern, (_, index) => this.#texts[Number(index)] ?? '');
  }

  /** The texts that words in `text` stand for, as often as they do. */
  shownIn(text: string): string[] {
    return [...text.matchAll(this.#wordPattern)].map(
      ([, index]) => this.#texts[Number(index)] ?? '',
    );
  }
}

/** Finds the longest of `texts` at each place; null for none. */
export function anyOf(texts: readonly string[]): RegExp | null {
  if (texts.length === 0) return null;
  const longestFirst = [...texts].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map(escape).join('|'), 'g');
}

function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
