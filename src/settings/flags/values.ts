/** Schemas of flags' values: each says in our words what it expects. */
import { z } from 'zod';
import { parseDuration } from '../../front/registry/duration.ts';
import { usableCores } from '../../ort/usable-cores.ts';

/** A text that `read` understands. @param expected what to say of others; `read` gives undefined for them */
export function readable<T>(expected: string, read: (text: string) => T | undefined) {
  return z.string().transform((text, context) => {
    const value = read(text.trim());
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: `expected ${expected}` });
    return z.NEVER;
  });
}

export const text = z.string().min(1, 'expected a value that is not empty');

/**
 * One of a few names.
 * @param answers what to use in place of names that only other servers have
 */
export function oneOf<const T extends readonly [string, ...string[]]>(
  names: T,
  answers: ReadonlyMap<string, string> = new Map(),
) {
  return z.enum(names, {
    error: ({ input }) => {
      const answer = answers.get(String(input));
      return answer ?? `expected ${inWords(names)}`;
    },
  });
}

/** The items of a list, one at least. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.array(item).min(1, 'expected one value at least');
}

const WHOLE = /^[+-]?\d{1,16}$/;

/** A whole number. */
export function count(min: number, max = Number.MAX_SAFE_INTEGER) {
  const isOpen = max === Number.MAX_SAFE_INTEGER;
  const expected = isOpen
    ? `a whole number of at least ${min}`
    : `a whole number from ${min} to ${max}`;
  return readable(expected, (given) => {
    const value = WHOLE.test(given) ? Number(given) : NaN;
    return value >= min && value <= max ? value : undefined;
  });
}

/** As vLLM reads them: small letters are powers of 1000, capitals of 1024. */
const TOKENS_PER_UNIT: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  K: 2 ** 10,
  M: 2 ** 20,
  G: 2 ** 30,
};

/** A number of tokens, such as 32768, 32k or 32K. */
export function tokenCount(min: number) {
  return readable(`a whole number of at least ${min}, such as 2048, 2k or 2K`, (given) => {
    const isPlain = /^\+?\d{1,16}[kmgKMG]?$/.test(given);
    if (!isPlain && !/^\d{1,9}\.\d{1,9}[kmg]$/.test(given)) return undefined;
    const [unit = ''] = /[a-z]$/i.exec(given) ?? [];
    const tokens = Math.round(Number.parseFloat(given) * (TOKENS_PER_UNIT[unit] ?? 1));
    return Number.isSafeInteger(tokens) && tokens >= min ? tokens : undefined;
  });
}

interface Range {
  /** The least that is too little. */
  readonly above?: number;
  readonly min?: number;
  readonly max?: number;
  /** The least that is too much. */
  readonly below?: number;
}

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;

/** A number that need not be whole. */
export function decimal({ above, min, max, below }: Range) {
  const least = above === undefined ? `from ${min}` : `above ${above}`;
  const most =
    below === undefined ? (max === undefined ? '' : ` to ${max}`) : ` and below ${below}`;
  const isOpen = max === undefined && below === undefined && min !== undefined;
  return readable(isOpen ? `a number of at least ${min}` : `a number ${least}${most}`, (given) => {
    const value = DECIMAL.test(given) ? Number(given) : NaN;
    const isIn =
      value >= (min ?? -Infinity) &&
      value > (above ?? -Infinity) &&
      value <= (max ?? Infinity) &&
      value < (below ?? Infinity);
    return isIn ? value : undefined;
  });
}

/** In milliseconds. */
export const duration = readable(
  'a duration such as 5m, or -1 for no end',
  (given) => parseDuration(given) ?? undefined,
);

export const port = count(0, 65_535);
export const seconds = decimal({ above: 0 });

const BYTES_PER_UNIT: Readonly<Record<string, number>> = {
  '': 1,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
};

/** In bytes. */
export const byteSize = readable('a size such as 8m, 512k or 1048576', (given) => {
  if (!/^\d+(\.\d+)?\s*([kmg]i?b?|b)?$/i.test(given)) return undefined;
  const unit = /[kmg]/i.exec(given)?.[0].toLowerCase() ?? '';
  const bytes = Math.floor(Number.parseFloat(given) * (BYTES_PER_UNIT[unit] ?? 1));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
});

/** A file opened in a browser has the origin `null`. */
const ORIGIN = /^(\*|null|[a-z][a-z0-9+.-]*:\/\/[^/]+)$/i;

export const origin = readable('origins such as https://chat.example', (given) => {
  const bare = given.replace(/\/$/, '');
  return ORIGIN.test(bare) ? bare : undefined;
});

export const hostName = readable('names without ports', (given) =>
  /^[^\s:/]+$|^[\da-f:]+$/i.test(given) ? given.toLowerCase() : undefined,
);

/** Address of a server, without a path. */
export const serverUrl = readable('an address such as http://10.0.0.7:8000', (given) =>
  /^https?:\/\/[^/]+\/?$/i.test(given) && URL.canParse(given) ? new URL(given) : undefined,
);

/** Where replicas are found: servers, names in DNS, or Redis. */
const PEER = /^(https?:\/\/[^/]+|dns:[^/:]+:\d{1,5}|dns:_[^/:]+|redis)$/i;

export const peer = readable(
  'http://10.0.0.7:8000, dns:name:port, dns:_service._tcp.name or redis',
  (given) => {
    const bare = given.replace(/\/$/, '');
    return PEER.test(bare) ? bare : undefined;
  },
);

/** Such as `0,9`. */
export const priorityRange = readable(
  'two whole numbers such as 0,9, the lower one first',
  (given) => {
    const [, min, max] = /^(-?\d{1,9}),(-?\d{1,9})$/.exec(given) ?? [];
    if (min === undefined || Number(min) > Number(max)) return undefined;
    return { min: Number(min), max: Number(max) };
  },
);

/** Threads beyond this many for each core only wait for each other. */
const MOST_THREADS_PER_CORE = 4;

export const threadCount = count(0).superRefine((threads, context) => {
  const cores = usableCores();
  const most = MOST_THREADS_PER_CORE * cores;
  if (threads <= most) return;
  const message = `expected at most ${most}, ${MOST_THREADS_PER_CORE} for each core that this process may use (${cores})`;
  context.addIssue({ code: 'custom', message });
});

const CLOCK = /^([01]?\d|2[0-3]):([0-5]\d)$/;

/** Such as `chat`, or `big=08:30`: a name, and when on each day. */
export const preload = readable('names, or name=HH:MM', (given) => {
  const [name = '', time] = given.split('=');
  const clock = CLOCK.exec(time ?? '');
  if (name === '' || (time !== undefined && clock === null)) return undefined;
  return { name, minutes: clock === null ? null : 60 * Number(clock[1]) + Number(clock[2]) };
});

/** Such as `a=1`. */
export const assignments = listOf(
  readable('key=value', (given): readonly [string, string] | undefined => {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(given) ?? [];
    return key === undefined ? undefined : [key, value ?? ''];
  }),
).transform((pairs): Record<string, string> => Object.fromEntries(pairs));

/** An object in JSON. */
export const jsonObject = readable(
  'a JSON object',
  (given): Record<string, unknown> | undefined => {
    try {
      const value: unknown = JSON.parse(given);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      return isObject ? { ...value } : undefined;
    } catch {
      return undefined;
    }
  },
);

/** Such as `a, b or c`. */
export function inWords(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} or ${last}`;
}
