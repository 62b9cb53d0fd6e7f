/** Strings that are written as they are, up to a marker, as EBNF. */
import { characterClass } from './character-class.ts';
import type { Bounds } from './counted-text.ts';
import { anyOf, type CharacterRange, literal, repeat } from './ebnf.ts';
import { GrammarError } from './grammar-spec.ts';
import {
  countOf,
  listOf,
  rejectUnsupported,
  type Schema,
  schemaFault,
  textOf,
} from './json-schema.ts';
import { countablePattern, expressionOf, patternEbnf, type StringWishes } from './json-strings.ts';
import { MarkerEbnf } from './marker-ebnf.ts';
import { type CharacterRules, type RegexNode, treeToEbnf } from './regex-tree.ts';
import { told } from '../told.ts';
import type { ParameterCall } from './tool-call-layout.ts';

/** Bounds of a text that the grammar keeps, or that has none. */
export const NO_BOUNDS: Bounds = [0, null];

export interface RawText {
  /** An expression for the text, and what closes it. */
  readonly ebnf: string;
  /** Bounds of its characters, which are counted beside the grammar. */
  readonly bounds: Bounds;
  /** Whether the text may have the beginning of what closes it in it. */
  readonly isAny: boolean;
}

/** Any text up to the marker, with it. */
export function anyText(close: string): string {
  return `${new MarkerEbnf(close.trim()).textWithout()} ${literal(close)}`;
}

/** The marker that a text is searched for; empty where strings are JSON. */
export function textEndOf({ value }: ParameterCall): string {
  return value.kind === 'raw' ? value.close.trimEnd() : (value.quote ?? '');
}

/**
 * Strings of a schema.
 * @param close what closes them, with which no text of the schema's own may agree
 * @param canCount whether bounds may be counted beside the grammar
 * @throws GrammarError when the schema can't be enforced
 */
export function rawText(schema: Schema, path: string, close: string, canCount: boolean): RawText {
  rejectUnsupported(schema, path);
  const combined = COMBINATIONS.find((keyword) => schema[keyword] !== undefined);
  if (combined !== undefined) {
    throw schemaFault(path, `\`${combined}\` beside a string's \`type\` is not supported here`);
  }
  const only = schema['const'];
  const values = listOf(schema, 'enum', path) ?? (only === undefined ? null : [only]);
  const characters = charactersBefore(close);
  const end = literal(close);
  if (values !== null) {
    // An empty text has no characters.
    const each = values.map((value) => (value === '' ? '""' : characters.text(String(value))));
    return { ebnf: `${anyOf(each)} ${end}`, bounds: NO_BOUNDS, isAny: false };
  }
  return boundedText(
    {
      minLength: countOf(schema, 'minLength', path),
      maxLength: countOf(schema, 'maxLength', path),
      pattern: textOf(schema, 'pattern', path),
      format: textOf(schema, 'format', path),
    },
    close,
    canCount,
  );
}

/** Those of a text that ends with the marker, which is no part of it. */
export function charactersBefore(marker: string): CharacterRules {
  const end = marker.trim();
  return {
    text: (text) => {
      if (!text.includes(end)) return literal(text);
      throw new GrammarError(`this model ends texts with ${told(JSON.stringify(end), 40)}`);
    },
    class: characterClass,
  };
}

const COMBINATIONS = ['$ref', 'allOf', 'anyOf', 'oneOf'];

function boundedText(wishes: StringWishes, close: string, canCount: boolean): RawText {
  const { minLength = 0, maxLength = null } = wishes;
  const end = literal(close);
  const expression = expressionOf(wishes);
  if (minLength > (maxLength ?? Infinity)) {
    throw new GrammarError('maxLength is below minLength');
  }
  if (expression === undefined) {
    const bounds: Bounds = [minLength, maxLength];
    if (canCount || (minLength === 0 && maxLength === null)) {
      return { ebnf: anyText(close), bounds, isAny: true };
    }
    return {
      ebnf: `${repeat(NO_MARKUP, minLength, maxLength)} ${end}`,
      bounds: NO_BOUNDS,
      isAny: false,
    };
  }
  const characters = withoutFirstOf(close);
  const counted = canCount ? countablePattern(expression, minLength, maxLength) : null;
  const parts = counted === null ? [] : [counted.before, counted.repeated];
  if (counted !== null && !parts.some((part) => mayNeed(part, close))) {
    const { before, repeated, bounds } = counted;
    const start = treeToEbnf(before, characters);
    return { ebnf: `${start} ${treeToEbnf(repeated, characters)}* ${end}`, bounds, isAny: false };
  }
  return {
    ebnf: `(${patternEbnf(expression, wishes, characters)}) ${end}`,
    bounds: NO_BOUNDS,
    isAny: false,
  };
}

/** Whether a part of a pattern may have to be what the marker begins with. That is not taken for text at first. */
function mayNeed(node: RegexNode, marker: string): boolean {
  switch (node.kind) {
    case 'text':
      return firstsOf(marker).some((first) => node.text.includes(first));
    case 'class': {
      const codes = new Set(firstsOf(marker).map((first) => first.codePointAt(0)));
      return !node.negated && node.ranges.every(([from, to]) => from === to && codes.has(from));
    }
    case 'sequence':
      return node.items.some((item) => mayNeed(item, marker));
    case 'choice':
      return node.alternatives.some((each) => mayNeed(each, marker));
    case 'repeat':
      return mayNeed(node.item, marker);
  }
}

function firstsOf(marker: string): string[] {
  return [marker.charAt(0), marker.trim().charAt(0)];
}

/** A character that begins no marker. */
const NO_MARKUP = '[^<]';

/**
 * Characters of patterns: where many may stand, none that the marker begins with, lest a text have the whole
 * marker in it.
 */
function withoutFirstOf(marker: string): CharacterRules {
  const first = marker.trim().codePointAt(0) ?? 0;
  return {
    ...charactersBefore(marker),
    class: (ranges, negated) => {
      if (negated) return characterClass([...ranges, [first, first]], true);
      const without = ranges.flatMap(([from, to]): CharacterRange[] =>
        from <= first && first <= to
          ? [[from, first - 1] as const, [first + 1, to] as const].filter(
              ([low, high]) => low <= high,
            )
          : [[from, to]],
      );
      return characterClass(without.length === 0 ? ranges : without, false);
    },
  };
}
