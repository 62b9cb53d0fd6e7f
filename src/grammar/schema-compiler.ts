/**
 * JSON Schema to EBNF. What comes out may describe fewer texts than the schema allows, never others,
 * so that every text of it is valid: objects have their members in the schema's order, numbers near
 * a bound are written in one way. Where that can't be done the schema is refused.
 *
 * The layout is that of Python's `json.dumps`, `{"a": 1, "b": [2, 3]}`: it is what models have seen
 * most, and free whitespace is where small models lose their way.
 */
import { anyOf, EbnfRules, literal, repeat } from './ebnf.ts';
import { GrammarError } from './grammar-spec.ts';
import { addStringRules, stringEbnf } from './json-strings.ts';
import {
  countOf,
  isSchema,
  listOf,
  mergeSchemas,
  numberOf,
  refuseUnsupported,
  resolveReference,
  type Schema,
  schemaFault,
  textOf,
} from './json-schema.ts';
import { INTEGER, integerEbnf, NUMBER, numberEbnf } from './number-ebnf.ts';

const MAX_DEPTH = 64;
const MAX_REFERENCES_IN_A_ROW = 32;
const COMMA = '", "';

/** Sets the rules of any JSON value, `value`, and `object`, `array`, `string` with it. */
function addJsonRules(rules: EbnfRules): void {
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
 * @param wrap makes the whole text's expression out of the name of the rule for one such JSON text
 * @throws GrammarError naming place and reason.
 */
export function schemaToEbnf(
  schema: unknown,
  wrap: (rule: string) => string = (rule) => rule,
): string {
  const rules = new EbnfRules();
  addJsonRules(rules);
  const compiler = new SchemaCompiler(rules, schema);
  const json = rules.add(compiler.compile(schema, '#', 0));
  rules.set('root', wrap(json));
  return rules.toString();
}

class SchemaCompiler {
  readonly #rules: EbnfRules;
  readonly #root: unknown;
  readonly #references = new Map<string, string>();

  constructor(rules: EbnfRules, root: unknown) {
    this.#rules = rules;
    this.#root = root;
  }

  /** An expression for the schema's values. @param path where the schema is, for errors */
  compile(schema: unknown, path: string, depth: number): string {
    if (depth > MAX_DEPTH) throw schemaFault(path.slice(0, 200), 'it is nested too deeply');
    if (schema === true) return 'value';
    if (schema === false) throw schemaFault(path, '`false` allows no value at all');
    if (!isSchema(schema)) throw schemaFault(path, 'expected an object or a boolean');
    refuseUnsupported(schema, path);
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

  #reference(reference: string, schema: Schema, path: string): string {
    let name = this.#references.get(reference);
    if (name === undefined) {
      const target = this.#follow(reference, path);
      name = `ref${this.#references.size}`;
      this.#references.set(reference, name);
      this.#rules.set(name, this.compile(target, reference, 0));
    }
    const { $ref, ...rest } = schema;
    const hasMore = Object.keys(rest).some((keyword) => CONSTRAINTS.has(keyword));
    if (!hasMore) return name;
    throw schemaFault(path, `\`$ref\` beside other constraints is not supported: ${String($ref)}`);
  }

  /** Follows references to references, which must lead somewhere. */
  #follow(reference: string, path: string): unknown {
    let target = resolveReference(this.#root, reference, path);
    for (let steps = 0; isSchema(target) && typeof target['$ref'] === 'string'; steps++) {
      if (steps > MAX_REFERENCES_IN_A_ROW) throw schemaFault(path, '`$ref` leads in circles');
      target = resolveReference(this.#root, target['$ref'], path);
    }
    return target;
  }

  /** Schemas made of others; null for any else. */
  #combination(schema: Schema, path: string, depth: number): string | null {
    const all = listOf(schema, 'allOf', path);
    if (all !== undefined) {
      let { allOf: _, ...merged }: Schema = schema;
      for (const [index, part] of all.entries()) {
        merged = mergeSchemas(merged, this.#inlined(part, `${path}/allOf/${index}`), path);
      }
      return this.compile(merged, path, depth + 1);
    }
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const parts = listOf(schema, keyword, path);
      if (parts === undefined) continue;
      if (parts.length === 0) throw schemaFault(path, `\`${keyword}\` must not be empty`);
      const { [keyword]: _, ...rest } = schema;
      const hasMore = Object.keys(rest).some((name) => CONSTRAINTS.has(name));
      const alternatives = parts.map((part, index) => {
        const where = `${path}/${keyword}/${index}`;
        const whole = hasMore ? mergeSchemas(rest, this.#inlined(part, where), where) : part;
        return this.compile(whole, where, depth + 1);
      });
      return anyOf(alternatives);
    }
    if (schema['nullable'] === true) {
      return anyOf([this.compile({ ...schema, nullable: false }, path, depth + 1), '"null"']);
    }
    return null;
  }

  #inlined(part: unknown, path: string): Schema {
    const reference = isSchema(part) ? textOf(part, '$ref', path) : undefined;
    const target = reference === undefined ? part : this.#follow(reference, path);
    if (target === true) return {};
    if (isSchema(target)) return target;
    throw schemaFault(path, 'expected an object');
  }

  #plain(schema: Schema, path: string, depth: number): string {
    if (schema['const'] !== undefined) return literal(dumps(schema['const']));
    const values = listOf(schema, 'enum', path);
    if (values !== undefined) {
      if (values.length === 0) throw schemaFault(path, '`enum` must not be empty');
      return anyOf(values.map((value) => literal(dumps(value))));
    }
    const { type } = schema;
    const types = type === undefined ? impliedTypes(schema) : Array.isArray(type) ? type : [type];
    if (types.length === 0) {
      if (type === undefined) return 'value';
      throw schemaFault(path, '`type` must not be empty');
    }
    return anyOf(types.map((name) => this.#ofType(name, schema, path, depth)));
  }

  #ofType(type: unknown, schema: Schema, path: string, depth: number): string {
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
        return this.#array(schema, path, depth);
      case 'object':
        return this.#object(schema, path, depth);
      default:
        throw schemaFault(path, `\`type\` is ${dumps(type).slice(0, 100)}`);
    }
  }

  #array(schema: Schema, path: string, depth: number): string {
    const prefix = listOf(schema, 'prefixItems', path) ?? [];
    const min = Math.max(countOf(schema, 'minItems', path) ?? 0, prefix.length);
    const max = countOf(schema, 'maxItems', path) ?? null;
    if (max !== null && max < min) {
      throw schemaFault(path, '`maxItems` is below `minItems` or the number of `prefixItems`');
    }
    const fixed = prefix.map((item, index) =>
      this.compile(item, `${path}/prefixItems/${index}`, depth + 1),
    );
    const { items = prefix.length === 0 } = schema;
    const maxMore = max === null ? null : max - prefix.length;
    if (items === false || maxMore === 0 || (prefix.length > 0 && min === prefix.length)) {
      if (min > prefix.length)
        throw schemaFault(path, '`minItems` asks for more than `prefixItems`');
      return `"[" ${fixed.join(` ${COMMA} `)} "]"`;
    }
    const item = this.#rules.add(this.compile(items, `${path}/items`, depth + 1));
    if (fixed.length > 0) {
      const more = repeat(`${COMMA} ${item}`, min - fixed.length, maxMore);
      return `"[" ${fixed.join(` ${COMMA} `)} ${more} "]"`;
    }
    const more = repeat(`${COMMA} ${item}`, Math.max(0, min - 1), max === null ? null : max - 1);
    return min === 0 ? `"[" (${item} ${more})? "]"` : `"[" ${item} ${more} "]"`;
  }

  #object(schema: Schema, path: string, depth: number): string {
    const properties = schema['properties'] ?? {};
    if (!isSchema(properties)) throw schemaFault(path, '`properties` must be an object');
    const required = new Set(listOf(schema, 'required', path));
    const members = new Map(Object.entries(properties));
    const isOpen = schema['properties'] === undefined;
    const extra = schema['additionalProperties'] ?? isOpen;
    for (const name of required) {
      if (typeof name !== 'string') throw schemaFault(path, '`required` must hold strings');
      if (members.has(name)) continue;
      if (schema['additionalProperties'] === false)
        throw schemaFault(path, `\`required\` names \`${name}\`, which is forbidden`);
      members.set(name, extra === false ? true : extra);
    }
    if (members.size === 0) return this.#map(schema, extra, path, depth);
    this.#checkCounts(schema, required.size, members.size, path);
    const parts = [...members].map(([name, member]) => {
      const value = this.compile(member, `${path}/properties/${name}`, depth + 1);
      const pair = this.#rules.add(`${literal(`${JSON.stringify(name)}: `)} ${value}`);
      return { pair, isRequired: required.has(name) };
    });
    return this.#members(parts);
  }

  /** The number of members must be right whichever optional ones are there. */
  #checkCounts(schema: Schema, numRequired: number, numMembers: number, path: string): void {
    const min = countOf(schema, 'minProperties', path) ?? 0;
    const max = countOf(schema, 'maxProperties', path) ?? numMembers;
    if (min > numRequired) throw schemaFault(path, '`minProperties` is above the required ones');
    if (max < numMembers) throw schemaFault(path, '`maxProperties` is below the declared ones');
  }

  /** Members in order, commas between those that are there. */
  #members(parts: readonly { readonly pair: string; readonly isRequired: boolean }[]): string {
    const starts: string[] = [];
    // From behind: what may follow once something is there.
    let rest = '';
    const rests: string[] = [];
    for (const { pair, isRequired } of parts.toReversed()) {
      rests.unshift(rest);
      const next = isRequired ? `${COMMA} ${pair}` : `(${COMMA} ${pair})?`;
      rest = this.#rules.add(`${next} ${rest}`);
    }
    for (const [index, { pair, isRequired }] of parts.entries()) {
      starts.push(`${pair} ${rests[index] ?? ''}`);
      if (isRequired) break;
    }
    const canBeEmpty = parts.every(({ isRequired }) => !isRequired);
    return `"{" (${starts.join(' | ')})${canBeEmpty ? '?' : ''} "}"`;
  }

  /** An object whose keys are not given. */
  #map(schema: Schema, extra: unknown, path: string, depth: number): string {
    const min = countOf(schema, 'minProperties', path) ?? 0;
    const max = countOf(schema, 'maxProperties', path) ?? null;
    // A key may come twice, so that more than one member is no certainty.
    if (min > 1) throw schemaFault(path, '`minProperties` above 1 needs `properties`');
    if (max !== null && max < min)
      throw schemaFault(path, '`maxProperties` is below `minProperties`');
    const { patternProperties, propertyNames } = schema;
    const patterns = isSchema(patternProperties) ? Object.entries(patternProperties) : [];
    if (patterns.length > 1 || (patterns.length === 1 && propertyNames !== undefined)) {
      throw schemaFault(path, 'more than one rule for keys is not supported');
    }
    const [pattern] = patterns;
    if (extra === false && pattern === undefined) {
      if (min > 0)
        throw schemaFault(path, '`minProperties` asks for members, and none are allowed');
      return '"{" "}"';
    }
    const keys = pattern ? { type: 'string', pattern: pattern[0] } : (propertyNames ?? {});
    if (!isSchema(keys)) throw schemaFault(path, '`propertyNames` must be an object');
    const key = this.compile({ type: 'string', ...keys }, `${path}/propertyNames`, depth + 1);
    const value = this.compile(
      pattern ? pattern[1] : extra,
      `${path}/additionalProperties`,
      depth + 1,
    );
    const member = this.#rules.add(`${key} ": " ${value}`);
    const more = repeat(`${COMMA} ${member}`, 0, max === null ? null : Math.max(0, max - 1));
    if (max === 0) return '"{" "}"';
    return min === 0 ? `"{" (${member} ${more})? "}"` : `"{" ${member} ${more} "}"`;
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

/** JSON in the layout of the grammar. */
function dumps(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(dumps).join(', ')}]`;
  if (!isSchema(value)) return JSON.stringify(value) ?? 'undefined';
  const members = Object.entries(value).map(
    ([key, item]) => `${JSON.stringify(key)}: ${dumps(item)}`,
  );
  return `{${members.join(', ')}}`;
}
