/**
 * JSON Schema to EBNF. The grammar may describe fewer texts than the schema allows, but no others,
 * so every text of it is valid: objects have their members in the schema's order, numbers near a
 * bound are written in one way. If that is not possible, the schema is rejected.
 *
 * The layout is that of Python's `json.dumps`, `{"a": 1, "b": [2, 3]}`: models have seen it most,
 * and small models fail with free whitespace.
 */
import { dumps } from './dumps.ts';
import { anyOf, type EbnfRules, literal } from './ebnf.ts';
import { LIMITS } from '../limits.ts';
import { GrammarError } from './grammar-spec.ts';
import { arrayEbnf } from './json-arrays.ts';
import { objectEbnf } from './json-objects.ts';
import { countedString, stringEbnf } from './json-strings.ts';
import { numbersEbnf } from './json-numbers.ts';
import {
  type CompilePart,
  CONSTRAINTS,
  countOf,
  impliedTypes,
  isSchema,
  listOf,
  rejectUnsupported,
  resolveReference,
  type Schema,
  schemaFault,
  textOf,
} from './json-schema.ts';
import type { SchemaParts } from './schema-parts.ts';
import {
  addPart,
  addValues,
  ANY,
  type ArrayShape,
  type ObjectShape,
  type SchemaShapes,
  type Shape,
} from './schema-shapes.ts';
import { told } from '../told.ts';

const MAX_REFERENCES_IN_A_ROW = 32;

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
  readonly #shapes: SchemaShapes | null;

  /** @param shapes for what is counted beside the grammar; without it the grammar keeps all bounds */
  constructor(
    rules: EbnfRules,
    parts: SchemaParts,
    root: unknown,
    shapes: SchemaShapes | null = null,
  ) {
    this.#rules = rules;
    this.#parts = parts;
    this.#root = root;
    this.#shapes = shapes;
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
    const shapes: Shape[] = [];
    this.#shapes?.byNumber.set(number, shapes);
    const expression = this.#rules.shorten(this.#expression(schema, path, depth, shapes));
    this.#compiled.set(number, expression);
    return expression;
  }

  #expression(schema: Schema, path: string, depth: number, shapes: Shape[]): string {
    rejectUnsupported(schema, path);
    const reference = textOf(schema, '$ref', path);
    if (reference !== undefined) return this.#reference(reference, schema, path, shapes);
    const combined = this.#combination(schema, path, depth, shapes);
    if (combined !== null) return combined;
    try {
      return this.#plain(schema, path, depth, shapes);
    } catch (error) {
      // Parsers of patterns and bounds don't know where they are.
      if (!(error instanceof GrammarError) || error.message.startsWith('JSON schema')) throw error;
      throw schemaFault(path, error.message);
    }
  }

  #reference(reference: string, { $ref, ...rest }: Schema, path: string, shapes: Shape[]): string {
    const hasMore = Object.keys(rest).some((keyword) => CONSTRAINTS.has(keyword));
    if (hasMore) {
      const reason = `\`$ref\` beside other constraints is not supported: ${String($ref)}`;
      throw schemaFault(path, reason);
    }
    const known = this.#references.get(reference);
    shapes.push(this.#as(this.#target(reference, path)));
    if (known !== undefined) return known;
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
  #combination(schema: Schema, path: string, depth: number, shapes: Shape[]): string | null {
    const all = listOf(schema, 'allOf', path);
    if (all !== undefined) {
      let { allOf: _, ...merged }: Schema = schema;
      for (const [index, part] of all.entries()) {
        merged = this.#parts.merge(merged, this.#inlined(part, `${path}/allOf/${index}`), path);
      }
      shapes.push(this.#as(merged));
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
        shapes.push(this.#as(whole));
        return this.#compile(whole, where, depth + 1);
      });
      return anyOf([...new Set(alternatives)]);
    }
    if (schema['nullable'] === true) {
      const other = { ...schema, nullable: false };
      shapes.push(this.#as(other));
      return anyOf([this.#compile(other, path, depth + 1), '"null"']);
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

  #plain(schema: Schema, path: string, depth: number, shapes: Shape[]): string {
    if (schema['const'] !== undefined) {
      addValues(shapes, [schema['const']]);
      return literal(dumps(schema['const']));
    }
    const values = listOf(schema, 'enum', path);
    if (values !== undefined) {
      if (values.length === 0) throw schemaFault(path, '`enum` must not be empty');
      addValues(shapes, values);
      return anyOf([...new Set(values.map((value) => literal(dumps(value))))]);
    }
    const { type } = schema;
    const types = type === undefined ? impliedTypes(schema) : Array.isArray(type) ? type : [type];
    if (types.length === 0) {
      shapes.push({ kind: 'as', number: ANY });
      if (type === undefined) return 'value';
      throw schemaFault(path, '`type` must not be empty');
    }
    return anyOf(
      [...new Set(types)].map((name) => this.#ofType(name, schema, path, depth, shapes)),
    );
  }

  /** The shapes of another schema, which is compiled too. */
  #as(schema: unknown): Shape {
    return { kind: 'as', number: this.#parts.numberOf(schema) };
  }

  #ofType(type: unknown, schema: Schema, path: string, depth: number, shapes: Shape[]): string {
    const compileInto =
      (shape: ObjectShape | ArrayShape): CompilePart =>
      (part, where, place) => {
        addPart(shape, place, this.#parts.numberOf(part));
        return this.#compile(part, where, depth + 1);
      };
    switch (type) {
      case 'null':
        return '"null"';
      case 'boolean':
        return '("true" | "false")';
      case 'integer':
      case 'number':
        return numbersEbnf(type, schema, path);
      case 'string': {
        const wishes = {
          minLength: countOf(schema, 'minLength', path),
          maxLength: countOf(schema, 'maxLength', path),
          pattern: textOf(schema, 'pattern', path),
          format: textOf(schema, 'format', path),
        };
        const counted = this.#shapes && countedString(wishes);
        if (this.#shapes?.addText(shapes, counted?.bounds ?? null) && counted !== null) {
          return counted.ebnf(this.#rules);
        }
        const text = stringEbnf(this.#rules, wishes);
        return text === 'string' ? text : this.#rules.add(text);
      }
      case 'array': {
        const shape: ArrayShape = { kind: 'array', first: [], rest: null };
        shapes.push(shape);
        return arrayEbnf(this.#rules, schema, path, compileInto(shape));
      }
      case 'object': {
        const shape: ObjectShape = { kind: 'object', members: new Map(), keys: null, rest: null };
        shapes.push(shape);
        return objectEbnf(this.#rules, schema, path, compileInto(shape));
      }
      default:
        throw schemaFault(path, `\`type\` is ${told(dumps(type), 100)}`);
    }
  }
}
