const MS_PER_UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h)/g;
const WHOLE = /^-?(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/;

/**
 * Ollama's forms of `keep_alive`: seconds as a number or a text of one, or a text such as `5m` or
 * `1h30m`. What is negative lasts for ever.
 * @returns milliseconds, Infinity for ever; null for anything else
 */
export function parseDuration(value: unknown): number | null {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof seconds === 'number' && Number.isFinite(seconds)) {
    return seconds < 0 ? Infinity : seconds * 1000;
  }
  if (typeof value !== 'string' || value.length > 32 || !WHOLE.test(value)) return null;
  if (value.startsWith('-')) return Infinity;
  let ms = 0;
  for (const [, count = '', unit = ''] of value.matchAll(PART)) {
    ms += Number(count) * (MS_PER_UNIT[unit] ?? 0);
  }
  return ms;
}
