import { LIMITS } from '../limits.ts';
import { GrammarError } from './grammar-spec.ts';
import { isSchema, type Schema, schemaFault } from './json-schema.ts';

/**
 * Looks at the parts of schemas, and keeps count: combinations such as `anyOf` within `anyOf` can
 * ask for the same part in exponentially many contexts.
 */
export class SchemaParts {
  readonly #numbers = new WeakMap<object, number>();
  readonly #numbersOfContent = new Map<string, number>();
  #numSeen = 0;

  /** @throws GrammarError when more parts have been looked at than one grammar may take */
  count(numParts: number): void {
    this.#numSeen += numParts;
    if (this.#numSeen <= LIMITS.grammarSchemaParts) return;
    throw new GrammarError(
      `the JSON schema has more than ${LIMITS.grammarSchemaParts} keywords and members, ` +
        'counted wherever a combination repeats them',
    );
  }

  /**
   * A number for a JSON value, the same for equal ones. Each object is looked at once.
   * @throws GrammarError when it is nested too deeply
   */
  numberOf(value: unknown, depth = 0): number {
    if (typeof value !== 'object' || value === null) {
      return this.#numberOfContent(`${typeof value} ${String(value)}`);
    }
    const known = this.#numbers.get(value);
    if (known !== undefined) return known;
    if (depth > LIMITS.grammarDepth) {
      throw new GrammarError(
        `the JSON schema is nested too deeply: more than ${LIMITS.grammarDepth} levels`,
      );
    }
    const content = Array.isArray(value)
      ? `[${value.map((item) => this.numberOf(item, depth + 1)).join()}`
      : `{${Object.entries(value)
          .map(([key, item]) => `${JSON.stringify(key)}${this.numberOf(item, depth + 1)}`)
          .join()}`;
    const number = this.#numberOfContent(content);
    this.#numbers.set(value, number);
    return number;
  }

  /**
   * Schema that satisfies both.
   * @throws GrammarError when they contradict each other about a keyword
   */
  merge(first: Schema, second: Schema, path: string): Schema {
    const [entries, added] = [Object.entries(first), Object.entries(second)];
    this.count(entries.length + added.length);
    const merged = new Map(entries);
    for (const [keyword, value] of added) {
      const present = merged.get(keyword);
      const isNew = present === undefined || ANNOTATIONS.has(keyword);
      merged.set(keyword, isNew ? value : this.#mergeKeyword(keyword, present, value, path));
    }
    return Object.fromEntries(merged);
  }

  #mergeKeyword(keyword: string, first: unknown, second: unknown, path: string): unknown {
    if (keyword === 'required' && Array.isArray(first) && Array.isArray(second)) {
      this.count(first.length + second.length);
      return [...new Set<unknown>([...first, ...second])];
    }
    if (keyword === 'properties' && isSchema(first) && isSchema(second)) {
      return this.merge(first, second, path);
    }
    if (this.numberOf(first) === this.numberOf(second)) return first;
    // The stricter of the two.
    if (keyword === 'additionalProperties' && (first === false || second === false)) return false;
    throw schemaFault(path, `\`${keyword}\` is given twice in ways that can't be put together`);
  }

  #numberOfContent(content: string): number {
    const known = this.#numbersOfContent.get(content);
    if (known !== undefined) return known;
    const number = this.#numbersOfContent.size;
    this.#numbersOfContent.set(content, number);
    return number;
  }
}

const ANNOTATIONS: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  'examples',
  '$comment',
  '$defs',
  'definitions',
]);
