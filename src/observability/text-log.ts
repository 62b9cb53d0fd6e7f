/** Log lines for people: what JSON says, in an order to read. */
import { z } from 'zod';

const line = z.looseObject({
  level: z.string(),
  time: z.string(),
  msg: z.string().default(''),
  err: z.looseObject({ stack: z.string().optional(), message: z.string().optional() }).optional(),
});

/** Fields of a request that has ended; see finish-request.ts. */
const request = z.looseObject({
  method: z.string(),
  path: z.string().optional(),
  status: z.number().optional(),
  code: z.number().optional(),
  durationMs: z.number(),
  model: z.string().optional(),
  tokens: z.object({ prompt: z.number(), cached: z.number(), output: z.number() }).optional(),
  finishReason: z.string().nullish(),
  stagesMs: z.record(z.string(), z.number()).optional(),
});

/** Terminal colors, by level. */
const COLORS: Readonly<Record<string, number>> = { info: 32, warn: 33, error: 31, fatal: 31 };
const DIM = 2;

/** @param json of one line of the log; what is none is given back as it is */
export function textLogLine(json: string, hasColors: boolean): string {
  const parsed = line.safeParse(parse(json));
  if (!parsed.success) return json;
  const { level, time, msg, err, ...fields } = parsed.data;
  const clock = time.slice('2026-01-01T'.length, -'Z'.length);
  const label = level.toUpperCase().padEnd(5);
  const shown = hasColors ? `\u001b[${COLORS[level] ?? DIM}m${label}\u001b[0m` : label;
  const stack = err?.stack ?? err?.message;
  const text = msg === 'request' ? requestText(fields) : `${msg}${rest(fields)}`;
  return `${clock} ${shown} ${text}${stack === undefined ? '' : `\n${stack}`}\n`;
}

/** Such as `POST /v1/completions 200, 41 ms: summit, 12 + 16 tokens, stop (queue 0.1, ...)`. */
function requestText(fields: Readonly<Record<string, unknown>>): string {
  const parsed = request.safeParse(fields);
  if (!parsed.success) return `request${rest(fields)}`;
  const {
    method,
    path,
    status,
    code,
    durationMs,
    model,
    tokens,
    finishReason,
    stagesMs,
    ...others
  } = parsed.data;
  const what = [method, path, status ?? code].filter((part) => part !== undefined);
  const parts = [
    model === undefined ? '' : plain(model),
    tokens === undefined ? '' : tokensText(tokens),
    finishReason ?? '',
  ].filter((part) => part !== '');
  const stages = Object.entries(stagesMs ?? {}).map(([name, ms]) => `${name} ${inMs(ms)}`);
  return (
    `${what.map((part) => plain(part)).join(' ')}, ${inMs(durationMs)} ms` +
    (parts.length === 0 ? '' : `: ${parts.join(', ')}`) +
    (stages.length === 0 ? '' : ` (${stages.join(', ')})`) +
    rest(others)
  );
}

function tokensText({
  prompt,
  cached,
  output,
}: z.infer<typeof request>['tokens'] & object): string {
  return `${prompt}${cached > 0 ? ` (${cached} cached)` : ''} + ${output} tokens`;
}

/** With two digits that count, and no more of those that do not. */
function inMs(ms: number): string {
  return ms < 10 ? ms.toPrecision(2) : ms.toFixed(0);
}

function rest(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `  ${name}=${plain(value)}`)
    .join('');
}

/** As it is where it cannot be taken for anything else, such as another line. */
function plain(value: unknown): string {
  return typeof value === 'string' && /^[\w.,:;@/#+ -]+$/.test(value)
    ? value
    : JSON.stringify(value);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
