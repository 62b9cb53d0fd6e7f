/** JSON Schemas: what of them can be enforced, and how their keywords are read. */
import { GrammarError } from './grammar-spec.ts';
import { type PartPlace } from './schema-shapes.ts';
import { told } from '../told.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** Keywords that change which values are valid, and that a grammar of bounded size can't keep. */
const UNSUPPORTED = [
  'not',
  'if',
  'then',
  'else',
  'contains',
  'minContains',
  'maxContains',
  'multipleOf',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
  'unevaluatedProperties',
  'unevaluatedItems',
  '$dynamicRef',
  '$recursiveRef',
];

/**
 * An expression for the values of a schema's part.
 * @param path where the part is, for errors
 * @param place where its values are
 */
export type CompilePart = (part: unknown, path: string, place: PartPlace) => string;

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A fault of a schema, with the place it is at, such as `#/properties/age`. */
export function schemaFault(path: string, reason: string): GrammarError {
  return new GrammarError(`JSON schema at ${path}: ${reason}`);
}

/** @throws GrammarError for keywords that would have to be ignored. */
export function rejectUnsupported(schema: Schema, path: string): void {
  const keyword = UNSUPPORTED.find((name) => schema[name] !== undefined && schema[name] !== false);
  if (keyword !== undefined) throw schemaFault(path, `\`${keyword}\` is not supported`);
  if (schema['uniqueItems'] === true) throw schemaFault(path, '`uniqueItems` is not supported');
}

/** The part of `root` that a reference such as `#/$defs/City` means. */
export function resolveReference(root: unknown, reference: string, path: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) {
    throw schemaFault(path, `\`$ref\` must start with \`#/\`; found \`${told(reference, 100)}\``);
  }
  let value = root;
  for (const escaped of reference.split('/').slice(1)) {
    const step = decodeURIComponentSafely(escaped).replaceAll('~1', '/').replaceAll('~0', '~');
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, step);
    if (!isThere) throw schemaFault(path, `\`$ref\`: there is no \`${told(reference, 100)}\``);
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @throws GrammarError when it is there and no whole number from 0. */
export function countOf(schema: Schema, keyword: string, path: string): number | undefined {
  const value = schema[keyword];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw schemaFault(path, `\`${keyword}\` must be a whole number from 0`);
}

/** @throws GrammarError when it is there and no number. */
export function numberOf(schema: Schema, keyword: string, path: string): number | undefined {
  const value = schema[keyword];
  if (value === undefined || typeof value === 'number') return value;
  throw schemaFault(path, `\`${keyword}\` must be a number`);
}

/** @throws GrammarError when it is there and no string. */
export function textOf(schema: Schema, keyword: string, path: string): string | undefined {
  const value = schema[keyword];
  if (value === undefined || typeof value === 'string') return value;
  throw schemaFault(path, `\`${keyword}\` must be a string`);
}

/** @throws GrammarError when it is there and no list. */
export function listOf(schema: Schema, keyword: string, path: string): unknown[] | undefined {
  const value = schema[keyword];
  if (value === undefined || Array.isArray(value)) return value;
  throw schemaFault(path, `\`${keyword}\` must be a list`);
}

/** Keywords that say which values are valid, as against annotations. */
export const CONSTRAINTS: ReadonlySet<string> = new Set([
  'type',
  'const',
  'enum',
  'properties',
  'required',
  'additionalProperties',
  'patternProperties',
  'propertyNames',
  'minProperties',
  'maxProperties',
  'items',
  'prefixItems',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'anyOf',
  'oneOf',
  'allOf',
]);

/** The types of a schema that gives none. */
export function impliedTypes(schema: Schema): string[] {
  const has = (...keywords: string[]) => keywords.some((keyword) => schema[keyword] !== undefined);
  if (has('properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames')) {
    return ['object'];
  }
  if (has('items', 'prefixItems', 'minItems', 'maxItems')) return ['array'];
  if (has('minLength', 'maxLength', 'pattern')) return ['string'];
  return has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum') ? ['number'] : [];
}
