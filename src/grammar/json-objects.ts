/** JSON objects as EBNF: declared members in the schema's order, or keys that are not given. */
import { COMMA, type EbnfRules, literal, repeat } from './ebnf.ts';
import {
  type CompilePart,
  countOf,
  isSchema,
  listOf,
  type Schema,
  schemaFault,
} from './json-schema.ts';

/** @throws GrammarError when the schema's wishes contradict each other or can't be kept together */
export function objectEbnf(
  rules: EbnfRules,
  schema: Schema,
  path: string,
  compile: CompilePart,
): string {
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
  if (members.size === 0) return mapEbnf(rules, schema, extra, path, compile);
  checkCounts(schema, required.size, members.size, path);
  const parts = [...members].map(([name, member]) => {
    const value = compile(member, `${path}/properties/${name}`, { of: 'member', name });
    const pair = rules.add(`${literal(`${JSON.stringify(name)}: `)} ${value}`);
    return { pair, isRequired: required.has(name) };
  });
  return membersEbnf(rules, parts);
}

/** The number of members must be right, whichever optional ones are present. */
function checkCounts(schema: Schema, numRequired: number, numMembers: number, path: string): void {
  const min = countOf(schema, 'minProperties', path) ?? 0;
  const max = countOf(schema, 'maxProperties', path) ?? numMembers;
  if (min > numRequired) throw schemaFault(path, '`minProperties` is above the required ones');
  if (max < numMembers) throw schemaFault(path, '`maxProperties` is below the declared ones');
}

interface Member {
  readonly pair: string;
  readonly isRequired: boolean;
}

/** Members in order, commas between those that are there. */
function membersEbnf(rules: EbnfRules, parts: readonly Member[]): string {
  const starts: string[] = [];
  // From the last to the first: what may follow an earlier member.
  let rest = '';
  const rests: string[] = [];
  for (const { pair, isRequired } of parts.toReversed()) {
    rests.push(rest);
    const next = isRequired ? `${COMMA} ${pair}` : `(${COMMA} ${pair})?`;
    rest = rules.add(`${next} ${rest}`);
  }
  rests.reverse();
  for (const [index, { pair, isRequired }] of parts.entries()) {
    starts.push(`${pair} ${rests[index] ?? ''}`);
    if (isRequired) break;
  }
  const canBeEmpty = parts.every(({ isRequired }) => !isRequired);
  return `"{" (${starts.join(' | ')})${canBeEmpty ? '?' : ''} "}"`;
}

/** An object whose keys are not given. */
function mapEbnf(
  rules: EbnfRules,
  schema: Schema,
  extra: unknown,
  path: string,
  compile: CompilePart,
): string {
  const min = countOf(schema, 'minProperties', path) ?? 0;
  const max = countOf(schema, 'maxProperties', path) ?? null;
  // A key may come twice, so more than one member is not certain.
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
    if (min > 0) throw schemaFault(path, '`minProperties` asks for members, and none are allowed');
    return '"{" "}"';
  }
  const keys = pattern ? { type: 'string', pattern: pattern[0] } : (propertyNames ?? {});
  if (!isSchema(keys)) throw schemaFault(path, '`propertyNames` must be an object');
  const key = compile({ type: 'string', ...keys }, `${path}/propertyNames`, { of: 'key' });
  const value = compile(pattern ? pattern[1] : extra, `${path}/additionalProperties`, {
    of: 'rest',
  });
  const member = rules.add(`${key} ": " ${value}`);
  const more = repeat(`${COMMA} ${member}`, 0, max === null ? null : Math.max(0, max - 1));
  if (max === 0) return '"{" "}"';
  return min === 0 ? `"{" (${member} ${more})? "}"` : `"{" ${member} ${more} "}"`;
}
