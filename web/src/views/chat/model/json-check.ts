/** Whether an answer is JSON, and keeps to its schema, while it is written. */
import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import { parsePartialJson } from './partial-json.ts';

export interface JsonFault {
  /** Where in the value, such as `/items/0/name`. */
  readonly place: string;
  readonly reason: string;
}

export type JsonCheck =
  | { readonly state: 'writing' | 'good' }
  | { readonly state: 'bad'; readonly faults: readonly JsonFault[] };

/** Faults that more text can't mend. */
const FINAL_KEYWORDS = new Set([
  'type',
  'additionalProperties',
  'maxItems',
  'maxLength',
  'maximum',
]);

/** Says only that parts of the value have faults, which are in the list too. */
const OUTER_KEYWORDS = new Set(['properties', 'items', '$ref', 'allOf', 'prefixItems']);

/** @param schema '' for any JSON */
export function checkJson(text: string, schema: string, isWhole: boolean): JsonCheck {
  const parsed = isWhole ? parseWhole(text) : parsePartialJson(text);
  if (parsed === null)
    return { state: 'bad', faults: [{ place: '/', reason: 'This is not JSON.' }] };
  if (parsed.value === undefined) return { state: 'writing' };
  const faults = faultsOf(parsed.value, schema).filter(
    ({ keyword }) => isWhole || FINAL_KEYWORDS.has(keyword),
  );
  if (faults.length > 0) {
    return {
      state: 'bad',
      faults: faults.map(({ instanceLocation, error }) => ({
        place: instanceLocation.replace(/^#/, '') || '/',
        reason: error,
      })),
    };
  }
  return { state: isWhole ? 'good' : 'writing' };
}

/** Fault of a schema that is typed; null if there is none. */
export function schemaFault(text: string): string | null {
  try {
    const schema: unknown = JSON.parse(text);
    const isSchema = typeof schema === 'object' && schema !== null && !Array.isArray(schema);
    return isSchema ? null : 'A schema is an object.';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function faultsOf(value: unknown, schema: string): OutputUnit[] {
  if (schema === '' || schemaFault(schema) !== null) return [];
  try {
    const validator = new Validator(JSON.parse(schema) as Schema, '2020-12', false);
    return validator.validate(value).errors.filter(({ keyword }) => !OUTER_KEYWORDS.has(keyword));
  } catch {
    // The server tells what is wrong with the schema itself.
    return [];
  }
}

function parseWhole(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}
