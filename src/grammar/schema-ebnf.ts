/** A JSON Schema as a grammar. */
import { findPlaces } from './counted-places.ts';
import { withCounts } from './counted-text.ts';
import { EbnfRules } from './ebnf.ts';
import { addJsonRules } from './json-values.ts';
import { SchemaCompiler } from './schema-compiler.ts';
import { SchemaParts } from './schema-parts.ts';
import { SchemaShapes } from './schema-shapes.ts';

/**
 * A grammar of the JSON texts that `schema` allows. Characters of bounded strings are counted beside
 * it, as `counted-text.ts` says, wherever the text before a string tells its bounds.
 * @throws GrammarError naming place and reason, or the limit that is exceeded
 */
export function schemaToEbnf(schema: unknown): string {
  const exact = new Set<string>();
  // Where bounds are ambiguous, the grammar keeps them; then no others are.
  for (let round = 0; round < 2; round++) {
    const { ebnf, found } = countedEbnf(schema, exact);
    if (found === null) break;
    const { places, ambiguous } = found;
    if (ambiguous.size === 0) return withCounts(ebnf, places.length === 0 ? null : { places });
    for (const bounds of ambiguous) exact.add(bounds);
  }
  return exactSchemaToEbnf(schema);
}

/**
 * The same, with all bounds in the grammar itself.
 * @throws as `schemaToEbnf`
 */
export function exactSchemaToEbnf(schema: unknown): string {
  const rules = new EbnfRules();
  addJsonRules(rules);
  rules.set('root', new SchemaCompiler(rules, new SchemaParts(), schema).compileRoot('#'));
  return rules.toString();
}

/** @param exact bounds that the grammar keeps itself */
function countedEbnf(schema: unknown, exact: ReadonlySet<string>) {
  const rules = new EbnfRules();
  const parts = new SchemaParts();
  const shapes = new SchemaShapes(exact);
  addJsonRules(rules);
  rules.set('root', new SchemaCompiler(rules, parts, schema, shapes).compileRoot('#'));
  return { ebnf: rules.toString(), found: findPlaces(shapes.byNumber, parts.numberOf(schema)) };
}
