/** A JSON Schema as a grammar. */
import { findPlaces } from './counted-places.ts';
import { type CountedPlace, withCounts } from './counted-text.ts';
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
  const counted = countedSchema(schema, '#', () => new SchemaParts());
  if (counted === null) return exactSchemaToEbnf(schema);
  const { rules, root, places } = counted;
  rules.set('root', root);
  return withCounts(rules.toString(), places.length === 0 ? null : { places });
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

export interface CountedSchema {
  readonly places: readonly CountedPlace[];
  /** Bounds that the grammar keeps itself, as `boundsKey` writes them. */
  readonly exact: ReadonlySet<string>;
  /** An expression for the values, and its rules. */
  readonly root: string;
  readonly rules: EbnfRules;
}

/**
 * Finds what can be counted beside the schema's grammar. Null where that takes too long.
 * @param path for errors
 * @param partsOfRound the schema is looked at once or twice
 * @throws as `schemaToEbnf`
 */
export function countedSchema(
  schema: unknown,
  path: string,
  partsOfRound: () => SchemaParts,
): CountedSchema | null {
  const exact = new Set<string>();
  // Where bounds are ambiguous, the grammar keeps them; then no others are.
  for (let round = 0; round < 2; round++) {
    const rules = new EbnfRules();
    const parts = partsOfRound();
    const shapes = new SchemaShapes(exact);
    addJsonRules(rules);
    const root = new SchemaCompiler(rules, parts, schema, shapes).compileRoot(path);
    const found = findPlaces(shapes.byNumber, parts.numberOf(schema));
    if (found === null) return null;
    if (found.ambiguous.size === 0) return { places: found.places, exact, root, rules };
    for (const bounds of found.ambiguous) exact.add(bounds);
  }
  return null;
}
