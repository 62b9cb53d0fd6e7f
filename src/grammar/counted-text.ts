/**
 * Grammars beside which characters are counted, as one text. A grammar that counted a string's
 * characters itself would have a rule for each, and a mask of the whole vocabulary with it. So the
 * grammar leaves the string without bounds, and a first line says where in the JSON it has some.
 */
import type { ThoughtLayout } from './grammar-source.ts';

/** Begins the first line; xgrammar takes it for a comment. */
const MARK = '#counted ';

/** Least and greatest number of characters (Unicode code points); null has no end. */
export type Bounds = readonly [min: number, max: number | null];

/** A place without counted strings, however deep. */
export const NOTHING_COUNTED = -1;

/** A place in a JSON text. Other places are told by index, or NOTHING_COUNTED. */
export interface CountedPlace {
  /** Bounds of a string that stands here. */
  readonly text?: Bounds;
  readonly object?: {
    readonly keys?: Bounds;
    /** Keys as the grammar writes them, without quotes, and the places of their values. */
    readonly members: readonly (readonly [key: string, place: number])[];
    /** The place of other keys' values. */
    readonly rest: number;
  };
  readonly array?: { readonly first: readonly number[]; readonly rest: number };
}

export interface Counts {
  /** Without calls, the whole JSON is at the first. */
  readonly places: readonly CountedPlace[];
  /** Before the JSON. */
  readonly thought?: ThoughtLayout;
  readonly calls?: CountedCalls;
}

/** Tool calls in a text, whose arguments are the JSON. */
export interface CountedCalls {
  /** Before the calls; empty where the text begins with them. */
  readonly open: string;
  /** After the last one; empty where nothing follows. */
  readonly end: string;
  /** Whether several calls stand between `open` and `end`. */
  readonly repeats: boolean;
  /** Before the arguments, where something varies between it and a call's start; empty elsewhere. */
  readonly afterName: string;
  readonly starts: readonly CallStart[];
  /** Where arguments stand one by one. */
  readonly parameters?: CountedLayout;
}

export interface CountedLayout {
  /** After the last argument of a call. */
  readonly close: string;
  /** After a text that is written as it is; empty where none are. Its first character is nowhere else in it. */
  readonly textEnd: string;
}

export interface CallStart {
  readonly text: string;
  /** Place of the arguments, or NOTHING_COUNTED. */
  readonly place: number;
  /** Arguments that stand one by one. */
  readonly parameters?: readonly CountedParameter[];
}

export interface CountedParameter {
  /** All that stands before its value, or the end of that. */
  readonly text: string;
  /** Place of a value in JSON, or NOTHING_COUNTED. */
  readonly place: number;
  /** Bounds of a text that is written as it is; left out for JSON. */
  readonly bounds?: Bounds;
  /** Whether such a text may have the beginning of its end in it. */
  readonly isAny?: boolean;
}

export function withCounts(ebnf: string, counts: Counts | null): string {
  return counts === null ? ebnf : `${MARK}${JSON.stringify(counts)}\n${ebnf}`;
}

/** The grammar for xgrammar, and what is counted beside it. */
export function splitCounts(text: string): { ebnf: string; counts: Counts | null } {
  if (!text.startsWith(MARK)) return { ebnf: text, counts: null };
  const end = text.indexOf('\n');
  const counts = JSON.parse(text.slice(MARK.length, end)) as Counts;
  return { ebnf: text.slice(end + 1), counts };
}

/** A client's grammar, whose comments count nothing. */
export function uncounted(ebnf: string): string {
  return ebnf.startsWith(MARK) ? `\n${ebnf}` : ebnf;
}

/** Whether the beginning of the JSON is certain from the text before it. */
export function canCountAfter(thought: ThoughtLayout | undefined): boolean {
  if (thought === undefined) return true;
  const { open, close, answer } = thought;
  return open !== '' && close !== '' && !open.includes('"') && !answer.startsWith('\n');
}
