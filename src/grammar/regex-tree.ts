/** Regular expressions as trees, and as EBNF. */
import { characterClass } from './character-class.ts';
import { anyOf, type CharacterRange, literal, repeat } from './ebnf.ts';

export type RegexNode =
  /** Given characters, one at least. */
  | { readonly kind: 'text'; readonly text: string }
  /** One character within the ranges, or outside of all. */
  | CharacterSet
  | { readonly kind: 'sequence'; readonly items: readonly RegexNode[] }
  | { readonly kind: 'choice'; readonly alternatives: readonly RegexNode[] }
  | Repetition;

export interface CharacterSet {
  readonly kind: 'class';
  readonly ranges: readonly CharacterRange[];
  readonly negated: boolean;
}

export interface Repetition {
  readonly kind: 'repeat';
  readonly item: RegexNode;
  readonly min: number;
  /** Null has no end. */
  readonly max: number | null;
}

/** Translation of an expression's characters; a JSON string must escape some of them. */
export interface CharacterRules {
  /** Given characters, one at least. */
  text(characters: string): string;
  /** One character within the ranges, or outside of all. */
  class(ranges: readonly CharacterRange[], negated: boolean): string;
}

export const PLAIN_CHARACTERS: CharacterRules = {
  text: literal,
  class: characterClass,
};

/** Characters and sets of them in a tree, with its repetitions written out. */
export function sizeOf(node: RegexNode): number {
  switch (node.kind) {
    case 'text':
    case 'class':
      return 1;
    case 'sequence':
      return node.items.reduce((sum, item) => sum + sizeOf(item), 0);
    case 'choice':
      return node.alternatives.reduce((sum, item) => sum + sizeOf(item), 0);
    case 'repeat':
      return sizeOf(node.item) * Math.max(1, node.min, node.max ?? 0);
  }
}

/** The texts that the whole tree matches, as an EBNF expression. */
export function treeToEbnf(node: RegexNode, characters: CharacterRules): string {
  switch (node.kind) {
    case 'text':
      return characters.text(node.text);
    case 'class':
      return characters.class(node.ranges, node.negated);
    case 'sequence':
      if (node.items.length === 0) return '""';
      return node.items.map((item) => treeToEbnf(item, characters)).join(' ');
    case 'choice':
      return anyOf(node.alternatives.map((each) => treeToEbnf(each, characters)));
    case 'repeat':
      return repeat(treeToEbnf(node.item, characters), node.min, node.max);
  }
}
