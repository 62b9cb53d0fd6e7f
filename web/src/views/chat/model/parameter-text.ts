/** Parameters as they are typed. */
import type { Parameter, ParameterKind } from './parameters.ts';

export function showParameter(kind: ParameterKind, value: unknown): string {
  if (value === undefined) return '';
  if (kind === 'texts' && Array.isArray(value)) return value.join('\n');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * @returns undefined for nothing
 * @throws Error saying what is wrong with it
 */
export function parseParameter({ kind, min, max, range }: Parameter, text: string): unknown {
  if (text.trim() === '') return undefined;
  switch (kind) {
    case 'boolean':
      return text === 'true';
    case 'text':
      return text;
    case 'texts':
      return text.split('\n').filter((line) => line !== '');
    case 'json':
      return JSON.parse(text) as unknown;
    case 'integer':
    case 'number': {
      const value = Number(text.replace(',', '.'));
      const isKind = kind === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value);
      if (!isKind)
        throw new Error(kind === 'integer' ? 'Expected a whole number.' : 'Expected a number.');
      if (value < (min ?? -Infinity) || value > (max ?? Infinity))
        throw new Error(`Expected ${range}.`);
      return value;
    }
  }
}
