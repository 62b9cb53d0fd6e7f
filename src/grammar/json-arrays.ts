/** JSON arrays as EBNF. */
import { COMMA, type EbnfRules, repeat } from './ebnf.ts';
import { type CompilePart, countOf, listOf, type Schema, schemaFault } from './json-schema.ts';

/** @throws GrammarError when the schema's wishes contradict each other */
export function arrayEbnf(
  rules: EbnfRules,
  schema: Schema,
  path: string,
  compile: CompilePart,
): string {
  const prefix = listOf(schema, 'prefixItems', path) ?? [];
  const min = Math.max(countOf(schema, 'minItems', path) ?? 0, prefix.length);
  const max = countOf(schema, 'maxItems', path) ?? null;
  if (max !== null && max < min) {
    throw schemaFault(path, '`maxItems` is below `minItems` or the number of `prefixItems`');
  }
  const fixed = prefix.map((item, index) =>
    compile(item, `${path}/prefixItems/${index}`, { of: 'first', index }),
  );
  const { items = prefix.length === 0 } = schema;
  const maxMore = max === null ? null : max - prefix.length;
  if (items === false || maxMore === 0 || (prefix.length > 0 && min === prefix.length)) {
    if (min > prefix.length) throw schemaFault(path, '`minItems` asks for more than `prefixItems`');
    return `"[" ${fixed.join(` ${COMMA} `)} "]"`;
  }
  const item = rules.add(compile(items, `${path}/items`, { of: 'rest' }));
  if (fixed.length > 0) {
    const more = repeat(`${COMMA} ${item}`, min - fixed.length, maxMore);
    return `"[" ${fixed.join(` ${COMMA} `)} ${more} "]"`;
  }
  const more = repeat(`${COMMA} ${item}`, Math.max(0, min - 1), max === null ? null : max - 1);
  return min === 0 ? `"[" (${item} ${more})? "]"` : `"[" ${item} ${more} "]"`;
}
