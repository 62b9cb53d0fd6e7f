/** Numbers within bounds, as EBNF over their decimal digits. */
import { anyOf } from './ebnf.ts';
import { GrammarError } from './grammar-spec.ts';

/** Largest bound, after scaling by the decimals: fifteen digits are what doubles hold exactly. */
const MAX_SCALED = 10 ** 15 - 1;
const MAX_DECIMALS = 6;
/** Decimals that a bound gets which must not itself be reached, so that one can come close to it. */
const DECIMALS_OF_EXCLUSIVE = 2;

export interface NumberBounds {
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly exclusiveMinimum?: number | undefined;
  readonly exclusiveMaximum?: number | undefined;
}

/** Within what doubles hold exactly; otherwise a confused model might write digits forever. */
const UNSIGNED = '("0" | [1-9] [0-9]{0,14})';
export const INTEGER = `("-"? ${UNSIGNED})`;
export const NUMBER = `("-"? ${UNSIGNED} ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?)`;

/** @throws GrammarError when no integer is within the bounds, or one is too large. */
export function integerEbnf(bounds: NumberBounds): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  const low = Math.max(
    Math.ceil(minimum ?? -MAX_SCALED),
    exclusiveMinimum === undefined ? -MAX_SCALED : Math.floor(exclusiveMinimum) + 1,
  );
  const high = Math.min(
    Math.floor(maximum ?? MAX_SCALED),
    exclusiveMaximum === undefined ? MAX_SCALED : Math.ceil(exclusiveMaximum) - 1,
  );
  return signed(low, high, (from, to) => unsignedRange(from, to, 0));
}

/**
 * Numbers without an exponent. Those close to a bound may need all of the bound's decimals.
 * @throws GrammarError when nothing is within the bounds, or one is too large or too fine.
 */
export function numberEbnf(bounds: NumberBounds): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  const isExclusive = exclusiveMinimum !== undefined || exclusiveMaximum !== undefined;
  const decimals = Math.max(
    isExclusive ? DECIMALS_OF_EXCLUSIVE : 0,
    ...[minimum, maximum, exclusiveMinimum, exclusiveMaximum].map(decimalsOf),
  );
  if (decimals > MAX_DECIMALS) {
    throw new GrammarError(`a bound with more than ${MAX_DECIMALS} decimals is not supported`);
  }
  const scale = (value: number) => Math.round(value * 10 ** decimals);
  const low = Math.max(
    minimum === undefined ? -MAX_SCALED : scale(minimum),
    exclusiveMinimum === undefined ? -MAX_SCALED : scale(exclusiveMinimum) + 1,
  );
  const high = Math.min(
    maximum === undefined ? MAX_SCALED : scale(maximum),
    exclusiveMaximum === undefined ? MAX_SCALED : scale(exclusiveMaximum) - 1,
  );
  return signed(low, high, (from, to) => {
    const exact = unsignedRange(to, to, decimals);
    if (from === to) return exact;
    // Further decimals make a number larger, though not as large as the next one.
    const further = decimals === 0 ? '("." [0-9]{1,15})?' : '[0-9]{0,15}';
    return anyOf([`${unsignedRange(from, to - 1, decimals)} ${further}`, exact]);
  });
}

function decimalsOf(value: number | undefined): number {
  if (value === undefined) return 0;
  const text = String(value);
  if (text.includes('e-')) return MAX_DECIMALS + 1;
  return text.split('.')[1]?.length ?? 0;
}

function signed(low: number, high: number, unsigned: (from: number, to: number) => string): string {
  if (!(low <= high)) throw new GrammarError('no number is within the bounds');
  if (low < -MAX_SCALED || high > MAX_SCALED) throw new GrammarError('a bound is too large');
  const parts: string[] = [];
  if (low < 0) parts.push(`"-" ${unsigned(Math.max(1, -high), -low)}`);
  if (high >= 0) parts.push(unsigned(Math.max(0, low), high));
  return anyOf(parts);
}

/** `from` to `to`; their last `decimals` digits are after the point. */
function unsignedRange(from: number, to: number, decimals: number): string {
  const width = (value: number) => Math.max(String(value).length, decimals + 1);
  const parts: string[] = [];
  /** Widths of which every number is within. */
  const whole: number[] = [];
  for (let digits = width(from); digits <= width(to); digits++) {
    const low = digits === decimals + 1 ? 0 : 10 ** (digits - 1);
    const high = 10 ** digits - 1;
    if (low > 0 && from <= low && high <= to) {
      whole.push(digits - decimals);
      continue;
    }
    const pad = (value: number) => String(value).padStart(digits, '0');
    parts.push(fixedWidth(pad(Math.max(from, low)), pad(Math.min(to, high)), decimals));
  }
  const [first, last] = [whole[0], whole.at(-1)];
  if (first !== undefined && last !== undefined) {
    const fraction = decimals === 0 ? '' : ` "." [0-9]{${decimals}}`;
    // One path for all: separate ones would be followed in parallel, digit by digit.
    parts.push(`[1-9] [0-9]{${first - 1},${last - 1}}${fraction}`);
  }
  return anyOf(parts);
}

/** Digit strings between two of the same length. */
function fixedWidth(low: string, high: string, decimals: number): string {
  if (low === '') return '""';
  const point = low.length === decimals ? '"." ' : '';
  const [l = '0', h = '9'] = [low[0], high[0]];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  const rest = (from: string, to: string) => fixedWidth(from, to, decimals);
  const zeros = '0'.repeat(lowRest.length);
  const nines = '9'.repeat(lowRest.length);
  if (lowRest === zeros && highRest === nines) {
    return `${point}[${l}-${h}] ${lowRest === '' ? '' : rest(zeros, nines)}`.trimEnd();
  }
  if (l === h) return `${point}"${l}" ${rest(lowRest, highRest)}`;
  const parts = [`"${l}" ${rest(lowRest, nines)}`];
  if (Number(h) - Number(l) > 1) {
    parts.push(`[${Number(l) + 1}-${Number(h) - 1}] ${rest(zeros, nines)}`);
  }
  parts.push(`"${h}" ${rest(zeros, highRest)}`);
  return `${point}${anyOf(parts)}`;
}
