/** Right bodies with something hostile at one of their places. */
import * as fc from 'fast-check';
import { MAX_FUZZED_CHARACTERS } from './budget.ts';
import { hostileJson, hostileSchema } from './hostile-json.ts';

/** Stands for JSON text that JSON.stringify could not write, such as what is nested too deep. */
const HOLE = '\u2603';

type Place = readonly [field: string, value: unknown];

/** Where a JSON schema may be. */
const SCHEMAS: readonly Place[] = [
  ['response_format', { type: 'json_schema', json_schema: { name: 'a', schema: HOLE } }],
  ['text', { format: { type: 'json_schema', name: 'a', schema: HOLE } }],
  ['tools', [{ type: 'function', function: { name: 'a', parameters: HOLE } }]],
  ['tools', [{ type: 'function', name: 'a', parameters: HOLE }]],
  ['tools', [{ name: 'a', input_schema: HOLE }]],
  ['structured_outputs', { json: HOLE }],
  ['guided_json', HOLE],
];

/** Fields whose values go deeper than their own name. */
const DEEPER: readonly Place[] = [
  ['structured_outputs', { regex: HOLE }],
  ['structured_outputs', { choice: HOLE }],
  ['structured_outputs', { grammar: HOLE }],
  ['chat_template_kwargs', { enable_thinking: HOLE }],
  ['messages', [{ role: 'user', content: HOLE }]],
  ['messages', [{ role: 'user', content: [{ type: 'text', text: HOLE }] }]],
  [
    'messages',
    [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'a', input: HOLE }] }],
  ],
  ['input', [{ role: 'user', content: HOLE }]],
  ['input', [{ type: 'reasoning', summary: [], content: HOLE }]],
  ['bad_words', [HOLE]],
  ['stop', [HOLE]],
  ['prompt', [HOLE]],
  ['metadata', { a: HOLE }],
];

/** Choices that make a grammar of the tools. */
const FORCED = [undefined, 'required', { type: 'any' }] as const;

/**
 * @param right a body that is served
 * @param names of the fields that the endpoint knows
 */
export function hostileBodies(
  right: Readonly<Record<string, unknown>>,
  names: readonly string[],
): fc.Arbitrary<string> {
  const isKnown = ([field]: Place): boolean => names.includes(field) || field in right;
  const hostileAt = (places: readonly Place[], json: fc.Arbitrary<string>) =>
    fc
      .tuple(fc.constantFrom(...places), json, fc.constantFrom(...FORCED))
      .map(([[field, value], text, choice]) => {
        const forced = field === 'tools' && choice !== undefined ? { tool_choice: choice } : {};
        const body = JSON.stringify({ ...right, ...forced, [field]: value });
        return body.replace(JSON.stringify(HOLE), () => text);
      })
      .filter(({ length }) => length <= MAX_FUZZED_CHARACTERS);
  const fields = ['unknown', ...names, ...Object.keys(right)].map((name): Place => [name, HOLE]);
  const anywhere = hostileAt([...DEEPER.filter(isKnown), ...fields], hostileJson);
  const schemas = SCHEMAS.filter(isKnown);
  if (schemas.length === 0) return anywhere;
  return fc.oneof(
    { weight: 2, arbitrary: anywhere },
    { weight: 1, arbitrary: hostileAt(schemas, hostileSchema) },
  );
}
