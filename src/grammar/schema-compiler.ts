/**
 * JSON Schema to EBNF. The grammar may describe fewer texts than the schema allows, but no others,
 * so every text of it is valid: objects have their members in the schema's order, numbers near a
 * bound are written in one way. If that is not possible, the schema is rejected.
 *
 * The layout is that of Python's `json.dumps`, `{"a": 1, "b": [2, 3]}`: models have seen it most,
 * and small models fail with free whitespace.
 */
import { dumps } from './dumps.ts';
import { anyOf, COMMA, EbnfRules, literal } from './ebnf.ts';
import { LIMITS } from '../limits.ts';
import { GrammarError } from './grammar-spec.ts';
import { arrayEbnf } from './json-arrays.ts';
import { objectEbnf } from './json-objects.ts';
import { addStringRules, stringEbnf } from './json-strings.ts';
import {
  type CompilePart,
  countOf,
  isSchema,
  listOf,
  numberOf,
  rejectUnsupported,
  resolveReference,
  type Schema,
  schemaFault,
  textOf,
} from './json-schema.ts';
import { INTEGER, integerEbnf, NUMBER, numberEbnf } from './number-ebnf.ts';
import { SchemaParts } from './schema-parts.ts';
import { told } from '../told.ts';

const MAX_REFERENCES_IN_A_ROW = 32;

/** Sets the rules of any JSON value, `value`, and `object`, `array`, `string` with it. */
export function addJsonRules(rules: EbnfRules): void {
  addStringRules(rules);
  rules.set('integer', INTEGER);
  rules.set('number', NUMBER);
  rules.set('array', `"[" (value (${COMMA} value)*)? "]"`);
  rules.set('member', 'string ": " value');
  rules.set('object', `"{" (member (${COMMA} member)*)? "}"`);
  rules.set('value', 'object | array | string | number | "true" | "false" | "null"');
}

/**
 * A grammar of the JSON texts that `schema` allows.
 * @throws GrammarError naming place and reason, or the limit that is exceeded
 */
export function schemaToEbnf(schema: unknown): string {
  const rules = new EbnfRules();
  addJsonRules(rules);
  rules.set('root', new SchemaCompiler(rules, new SchemaParts(), schema).compileRoot('#'));
  return rules.toString();
}

/** One schema, whose references lead into itself. */
export class SchemaCompiler {
  readonly #rules: EbnfRules;
  readonly #parts: SchemaParts;
  readonly #root: unknown;
  /** By reference: the name of its rule. */
  readonly #references = new Map<string, string>();
  /** By reference: what it leads to in the end. */
  readonly #targets = new Map<string, unknown>();
  /** By the schema's number: its expression, or null while it is made. */
  readonly #compiled = new Map<number, string | null>();

  constructor(rules: EbnfRules, parts: SchemaParts, root: unknown) {
    this.#rules = rules;
    this.#parts = parts;
    this.#root = root;
  }

  /** An expression for the root's values, with the rules it needs. @param path for errors */
  compileRoot(path: string): string {
    this.#parts.numberOf(this.#root);
    const expression = this.#compile(this.#root, path, 0);
    this.compileReferences(path);
    return expression;
  }

  /** An expression for a part of the root; `compileReferences` has to follow the last one. */
  compilePart(part: unknown, path: string): string {
    return this.#compile(part, path, 0);
  }

  /** Makes the rules that other expressions refer to. */
  compileReferences(path: string): void {
    // One after the other, because a chain of references may be longer than the stack is deep. A
    // definition's own references are appended.
    for (const [reference, name] of this.#references) {
      this.#rules.set(name, this.#compile(this.#target(reference, path), reference, 0));
    }
  }

  /**
   * An expression for the schema's values. It is short, and made once for equal schemas: a schema
   * that occurs in many places, or results from many combinations, costs no more than once.
   */
  #compile(schema: unknown, path: string, depth: number): string {
    if (schema === true) return 'value';
    if (schema === false) throw schemaFault(path, '`false` allows no value at all');
    if (!isSchema(schema)) throw schemaFault(path, 'expected an object or a boolean');
    if (depth > LIMITS.grammarDepth) {
      throw schemaFault(
        told(path, 200),
        `it is nested too deeply: combinations of more than ${LIMITS.grammarDepth} levels`,
      );
    }
    const number = this.#parts.numberOf(schema);
    const known = this.#compiled.get(number);
    if (known === null) throw schemaFault(told(path, 200), 'a combination leads in circles');
    if (known !== undefined) return known;
    this.#parts.count(1 + Object.keys(schema).length);
    this.#compiled.set(number, null);
    const expression = this.#rules.shorten(this.#expression(schema, path, depth));
    this.#compiled.set(number, expression);
    return expression;
  }

  #expression(schema: Schema, path: string, depth: number): string {
    rejectUnsupported(schema, path);
    const reference = textOf(schema, '$ref', path);
    if (reference !== undefined) return this.#reference(reference, schema, path);
    const combined = this.#combination(schema, path, depth);
    if (combined !== null) return combined;
    try {
      return this.#plain(schema, path, depth);
    } catch (error) {
      // Parsers of patterns and bounds don't know where they are.
      if (!(error instanceof GrammarError) || error.message.startsWith('JSON schema')) throw error;
      throw schemaFault(path, error.message);
    }
  }

  #reference(reference: string, { $ref, ...rest }: Schema, path: string): string {
    const hasMore = Object.keys(rest).some((keyword) => CONSTRAINTS.has(keyword));
    if (hasMore) {
      const reason = `\`$ref\` beside other constraints is not supported: ${String($ref)}`;
      throw schemaFault(path, reason);
    }
    const known = this.#references.get(reference);
    if (known !== undefined) return known;
    this.#target(reference, path);
    const name = this.#rules.reserve();
    this.#references.set(reference, name);
    return name;
  }

  /** Follows references to references, which must lead somewhere. */
  #target(reference: string, path: string): unknown {
    if (this.#targets.has(reference)) return this.#targets.get(reference);
    let target = resolveReference(this.#root, reference, path);
    for (let steps = 0; isSchema(target) && typeof target['$ref'] === 'string'; steps++) {
      if (steps > MAX_REFERENCES_IN_A_ROW) throw schemaFault(path, '`$ref` leads in circles');
      target = resolveReference(this.#root, target['$ref'], path);
    }
    this.#targets.set(reference, target);
    return target;
  }

  /** Schemas made of others; null for other schemas. */
  #combination(schema: Schema, path: string, depth: number): string | null {
    const all = listOf(schema, 'allOf', path);
    if (all !== undefined) {
      let { allOf: _, ...merged }: Schema = schema;
      for (const [index, part] of all.entries()) {
        merged = this.#parts.merge(merged, this.#inlined(part, `${path}/allOf/${index}`), path);
      }
      return this.#compile(merged, path, depth + 1);
    }
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const parts = listOf(schema, keyword, path);
      if (parts === undefined) continue;
      if (parts.length === 0) throw schemaFault(path, `\`${keyword}\` must not be empty`);
      const { [keyword]: _, ...rest } = schema;
      const hasMore = Object.keys(rest).some((name) => CONSTRAINTS.has(name));
      const alternatives = parts.map((part, index) => {
        const where = `${path}/${keyword}/${index}`;
        const whole = hasMore ? this.#parts.merge(rest, this.#inlined(part, where), where) : part;
        return this.#compile(whole, where, depth + 1);
      });
      return anyOf([...new Set(alternatives)]);
    }
    if (schema['nullable'] === true) {
      return anyOf([this.#compile({ ...schema, nullable: false }, path, depth + 1), '"null"']);
    }
    return null;
  }

  /** Schema of `part`, with references followed. */
  #inlined(part: unknown, path: string): Schema {
    const reference = isSchema(part) ? textOf(part, '$ref', path) : undefined;
    const target = reference === undefined ? part : this.#target(reference, path);
    if (target === true) return {};
    if (isSchema(target)) return target;
    throw schemaFault(path, 'expected an object');
  }

  #plain(schema: Schema, path: string, depth: number): string {
    if (schema['const'] !== undefined) return literal(dumps(schema['const']));
    const values = listOf(schema, 'enum', path);
    if (values !== undefined) {
      if (values.length === 0) throw schemaFault(path, '`enum` must not be empty');
      return anyOf([...new Set(values.map((value) => literal(dumps(value))))]);
    }
    const { type } = schema;
    const types = type === undefined ? impliedTypes(schema) : Array.isArray(type) ? type : [type];
    if (types.length === 0) {
      if (type === undefined) return 'value';
      throw schemaFault(path, '`type` must not be empty');
    }
    const compile: CompilePart = (part, where) => this.#compile(part, where, depth + 1);
    return anyOf([...new Set(types)].map((name) => this.#ofType(name, schema, path, compile)));
  }

  #ofType(type: unknown, schema: Schema, path: string, compile: CompilePart): string {
    switch (type) {
      case 'null':
        return '"null"';
      case 'boolean':
        return '("true" | "false")';
      case 'integer':
      case 'number': {
        const bounds = {
          minimum: numberOf(schema, 'minimum', path),
          maximum: numberOf(schema, 'maximum', path),
          exclusiveMinimum: numberOf(schema, 'exclusiveMinimum', path),
          exclusiveMaximum: numberOf(schema, 'exclusiveMaximum', path),
        };
        if (Object.values(bounds).every((bound) => bound === undefined)) return type;
        return type === 'integer' ? integerEbnf(bounds) : numberEbnf(bounds);
      }
      case 'string': {
        const text = stringEbnf(this.#rules, {
          minLength: countOf(schema, 'minLength', path),
          maxLength: countOf(schema, 'maxLength', path),
          pattern: textOf(schema, 'pattern', path),
          format: textOf(schema, 'format', path),
        });
        return text === 'string' ? text : this.#rules.add(text);
      }
      case 'array':
        return arrayEbnf(this.#rules, schema, path, compile);
      case 'object':
        return objectEbnf(this.#rules, schema, path, compile);
      default:
        throw schemaFault(path, `\`type\` is ${told(dumps(type), 100)}`);
    }
  }
}

/** Keywords that say which values are valid, as against annotations. */
const CONSTRAINTS: ReadonlySet<string> = new Set([
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

function impliedTypes(schema: Schema): string[] {
  const has = (...keywords: string[]) => keywords.some((keyword) => schema[keyword] !== undefined);
  if (has('properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames')) {
    return ['object'];
  }
  if (has('items', 'prefixItems', 'minItems', 'maxItems')) return ['array'];
  if (has('minLength', 'maxLength', 'pattern')) return ['string'];
  return has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum') ? ['number'] : [];
}
