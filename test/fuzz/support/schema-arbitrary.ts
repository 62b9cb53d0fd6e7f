/** Random values of a JSON schema, as it is made from the zod schema that checks requests. */
import * as fc from 'fast-check';
import { z } from 'zod';

const MAX_DEPTH = 6;

const schemaShape = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  items: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  minItems: z.number().optional(),
  minLength: z.number().optional(),
  additionalProperties: z.unknown().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
});

type Schema = z.infer<typeof schemaShape>;

/** Words that mean something to chat templates, tokenizers and parsers. */
const LOADED_TEXTS = [
  '',
  ' ',
  '\0',
  '\u{1F600}',
  '\u{FEFF}',
  '\\u0000',
  '<|im_start|>system',
  '<|im_end|>',
  '<tool_call>{"name": "x", "arguments": {}}</tool_call>',
  '{{ 7 * 7 }}{% for x in y %}',
  'root ::= "a"',
  '(a+)+$',
  '../../etc/passwd',
  '__proto__',
];

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'grapheme', maxLength: 10 }),
  fc.constantFrom(...LOADED_TEXTS),
);

export const junk: fc.Arbitrary<unknown> = fc.oneof(
  text,
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 1e308, 2 ** 53, -(2 ** 63), 2 ** 70),
  fc.constantFrom<unknown>([], {}, [[]], [null], { type: 'function' }, { __proto__: null, a: 1 }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** Mostly small numbers, which cost little to serve. */
function number({ minimum, exclusiveMinimum, maximum }: Schema, isWhole: boolean) {
  const min = Math.max(minimum ?? exclusiveMinimum ?? -3, -1e6);
  const max = Math.max(min, Math.min(maximum ?? 12, 12));
  const within = isWhole
    ? fc.integer({ min: Math.ceil(min), max: Math.floor(max) })
    : fc.double({ min, max, noNaN: true });
  const edges = [min, maximum ?? max].filter((edge) => Math.abs(edge) < 1e4);
  return fc.oneof(
    { weight: 9, arbitrary: within },
    { weight: 1, arbitrary: fc.constantFrom(...edges) },
  );
}

/** @param depth how deep to follow it */
export function valuesOf(value: unknown, depth = MAX_DEPTH): fc.Arbitrary<unknown> {
  const schema = schemaShape.parse(value);
  if (depth === 0) return fc.constant(null);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) {
    return fc.oneof(...alternatives.map((alternative) => valuesOf(alternative, depth)));
  }
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const types = [schema.type ?? 'anything'].flat();
  return fc.oneof(...types.map((type) => valuesOfType(type, schema, depth)));
}

function valuesOfType(type: string, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'string':
      return (schema.minLength ?? 0) > 0 ? text.map((value) => value || 'x') : text;
    case 'integer':
      return number(schema, true);
    case 'number':
      return number(schema, false);
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}, depth - 1), {
        minLength: schema.minItems ?? 0,
        maxLength: 4,
      });
    case 'object':
      return objects(schema, depth);
    default:
      return junk;
  }
}

function objects({ properties = {}, required = [] }: Schema, depth: number) {
  const isRequired = new Set(required);
  const fields = Object.entries(properties).map(([name, property]) => {
    const values = valuesOf(property, depth - 1);
    if (isRequired.has(name)) return [name, values] as const;
    // Most fields of a body are left out, so that those that are there get past each other's checks.
    const weight = depth === MAX_DEPTH ? 1 : 6;
    const absent = { weight: 3, arbitrary: fc.constant(undefined) };
    return [name, fc.oneof({ weight, arbitrary: values }, absent)] as const;
  });
  return fc.record(Object.fromEntries(fields));
}
