/** Levels of headings: the page has the first, and none may be left out below it. */
import type { Token, Tokens } from 'marked';

/** @returns the level of each heading of a text, by its place among the tokens */
export function headingLevels(tokens: readonly Token[]): ReadonlyMap<number, number> {
  const levels = new Map<number, number>();
  /** Depths in Markdown of the headings above. */
  let above: readonly number[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'heading') continue;
    const { depth } = token as Tokens.Heading;
    above = [...above.filter((each) => each < depth), depth];
    levels.set(index, Math.min(6, 1 + above.length));
  }
  return levels;
}
