/** A JSON schema in few words, for readers. */
import { z } from 'zod';

const schemaShape = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  minimum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  maximum: z.number().optional(),
});

/** Such as `number, 0 to 2` or `string or list of strings`; null goes without saying. */
export function describeType(value: unknown): string {
  const schema = schemaShape.parse(value);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) {
    const names = alternatives.map(describeType).filter((name) => name !== '');
    return [...new Set(names)].join(' or ');
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((item) => JSON.stringify(item)).join(', ');
  const types = [schema.type ?? 'anything'].flat().filter((type) => type !== 'null');
  return types.map((type) => describeSimple(type, schema)).join(' or ');
}

function describeSimple(type: string, schema: z.infer<typeof schemaShape>): string {
  if (type === 'array') return `list of ${describeType(schema.items ?? {})}`;
  if (type !== 'number' && type !== 'integer') return type;
  const { minimum, exclusiveMinimum, maximum } = schema;
  const limits = [
    minimum === undefined ? '' : `from ${minimum}`,
    exclusiveMinimum === undefined ? '' : `above ${exclusiveMinimum}`,
    maximum === undefined ? '' : `to ${maximum}`,
  ].filter((limit) => limit !== '');
  return limits.length === 0 ? type : `${type}, ${limits.join(' ')}`;
}
