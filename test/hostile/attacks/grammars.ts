/** Schemas, grammars, regular expressions and choices that are small to send and large to compile. */
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';
import { delayBeside } from '../support/delay.ts';
import { user } from './surfaces.ts';

const PATH = '/v1/chat/completions';

/** Each level twice the next: 2^depth alternatives, since `type` beside `anyOf` has them merged. */
function doubling(depth: number): object {
  const level = (index: number) => ({ $ref: `#/$defs/L${index}` });
  const $defs: Record<string, object> = { [`L${depth}`]: { type: 'object' } };
  for (let index = 0; index < depth; index++) {
    $defs[`L${index}`] = { type: 'object', anyOf: [level(index + 1), level(index + 1)] };
  }
  return { $defs, ...level(0) };
}

const ask = (fields: object) => ({ messages: user('Hi'), max_tokens: 8, ...fields });

/** A schema over every way in. */
const ways = (schema: object): readonly (readonly [string, object])[] => [
  [PATH, ask({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } })],
  [PATH, ask({ response_format: { type: 'json_object', schema } })],
  [PATH, ask({ structured_outputs: { json: schema } })],
  [PATH, ask({ guided_json: JSON.stringify(schema) })],
  [
    PATH,
    ask({
      tools: [{ type: 'function', function: { name: 'a', parameters: schema } }],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'a' } }] },
      },
    }),
  ],
  [
    PATH,
    ask({
      tools: [{ type: 'function', function: { name: 'a', strict: true, parameters: schema } }],
    }),
  ],
  ['/v1/responses', { input: 'Hi', text: { format: { type: 'json_schema', name: 'a', schema } } }],
  ['/v1/messages', ask({ output_config: { format: { type: 'json_schema', schema } } })],
  [
    '/v1/messages',
    {
      ...ask({ tool_choice: { type: 'any' } }),
      tools: [{ name: 'a', input_schema: schema }],
    },
  ],
];

const sendAll = (attacker: Client, bodies: readonly (readonly [string, object])[]) =>
  Promise.all(bodies.map(([path, body]) => attacker.try(path, { body })));

const guided = (field: string, values: readonly unknown[]) =>
  values.map((value) => [PATH, ask({ [field]: value })] as const);

/** Each of them one of its own, for what passed is remembered. */
const slowGrammar = (seed: number) => `root ::= "${seed}" ${'("a" | "b"){1,300} '.repeat(200)}`;

export const attacks: readonly Attack[] = [
  {
    name: 'a schema of 1.5 KB with 2^18 alternatives',
    async run({ attacker }) {
      await attacker.try(...sendable(ways(doubling(18))[0]));
    },
  },
  {
    name: 'the same with 2^40',
    async run({ attacker }) {
      await attacker.try(...sendable(ways(doubling(40))[0]));
    },
  },
  {
    name: 'the same with 2^16, over every way in at once',
    async run({ attacker }) {
      await sendAll(attacker, ways(doubling(16)));
    },
  },
  {
    name: 'three slow grammars; a `json_object` must not wait for them',
    hasKeys: true,
    async run({ attacker, victim }) {
      const slow = [1, 2, 3].map(
        (seed) => [PATH, ask({ guided_grammar: slowGrammar(seed) })] as const,
      );
      return delayBeside(
        () => sendAll(attacker, slow),
        () => victim.send(PATH, { body: ask({ response_format: { type: 'json_object' } }) }),
      );
    },
  },
  {
    name: 'forty slow grammars at once, and their clients leave',
    hasKeys: true,
    async run({ attacker, victim }) {
      const leave = () => {
        const signal = AbortSignal.timeout(200);
        const sent = Array.from({ length: 40 }, (_, seed) =>
          attacker.try(PATH, { body: ask({ guided_grammar: slowGrammar(seed + 10) }), signal }),
        );
        return Promise.all(sent);
      };
      return delayBeside(leave, (turn) =>
        victim.send(PATH, { body: ask({ guided_choice: ['yes', 'no', `${turn}`] }) }),
      );
    },
  },
  {
    name: '`guided_choice` of 7 MB',
    async run({ attacker }) {
      const choices = Array.from({ length: 1000 }, (_, index) => `${index}${'x'.repeat(7000)}`);
      await sendAll(attacker, guided('guided_choice', [choices]));
    },
  },
  {
    name: '`guided_choice` of one text of 7 MB, of 500,000 texts, of quotes',
    async run({ attacker }) {
      const many = Array.from({ length: 500_000 }, (_, index) => `c${index}`);
      await sendAll(
        attacker,
        guided('guided_choice', [['x'.repeat(7e6)], many, ['"\\'.repeat(1.5e6)]]),
      );
    },
  },
  {
    name: 'regular expressions that are far larger than their text',
    async run({ attacker }) {
      const counted = '((((a{1,999}){1,999}){1,999}){1,999}){1,999}';
      const deep = `${'('.repeat(40_000)}a${')'.repeat(40_000)}`;
      const either = Array.from({ length: 9000 }, (_, index) => `a${index}`).join('|');
      const classes = `[${'\\u0100-\\uffff\\w\\d'.repeat(5000)}]`;
      const optional = '(a?){5000}a{5000}';
      await sendAll(
        attacker,
        guided('guided_regex', [counted, deep, either, classes, optional, '[^a]{100000}']),
      );
    },
  },
  {
    name: 'grammars of 100,000 characters',
    async run({ attacker }) {
      const rules = Array.from({ length: 3000 }, (_, index) => `r${index} ::= "a" r${index + 1}`);
      const chain = ['root ::= r0', ...rules, 'r3000 ::= "a"'].join('\n');
      const deep = `root ::= ${'('.repeat(45_000)}"a"${')'.repeat(45_000)}`;
      const wide = `root ::= ${'"a" | '.repeat(16_000)}"b"`;
      const circles = `root ::= ${'(root | "a")* '.repeat(5000)}"b"`;
      await sendAll(attacker, guided('guided_grammar', [chain, deep, wide, circles]));
    },
  },
  {
    name: 'schemas of large counts, enums, names and patterns',
    async run({ attacker }) {
      const names = Array.from({ length: 20_000 }, (_, index) => `p${index}`);
      const properties = Object.fromEntries(names.map((name) => [name, { type: 'integer' }]));
      const schemas = [
        { type: 'array', minItems: 1e6, maxItems: 1e9, items: { type: 'string' } },
        { type: 'string', minLength: 1e6, maxLength: 1e9 },
        { type: 'string', pattern: '^(a{1,999}){1,999}$' },
        { enum: Array.from({ length: 200_000 }, (_, index) => `value ${index}`) },
        { type: 'object', properties, required: names },
        { type: 'object', properties },
        { type: 'integer', minimum: -1e300, maximum: 1e300 },
        { const: 'x'.repeat(5e6) },
        {
          allOf: Array.from({ length: 50_000 }, () => ({ type: 'object', properties: { a: {} } })),
        },
      ];
      await sendAll(attacker, guided('guided_json', schemas));
    },
  },
  {
    name: 'custom tools with grammars that are far larger than their text, over both APIs',
    async run({ attacker }) {
      const lines = (count: number, line: (index: number) => string) =>
        Array.from({ length: count }, (_, index) => line(index)).join('\n');
      const definitions = [
        `start: r0\n${lines(4000, (index) => `r${index}: r${index + 1} r${index + 1}`)}\nr4000: "a"`,
        `start: T0\n${lines(4000, (index) => `T${index}: T${index + 1} "a"`)}\nT4000: "a"`,
        `start: ${'('.repeat(30_000)}"a"${')'.repeat(30_000)}`,
        `start: ${'('.repeat(60)}"a"${')~999'.repeat(60)}`,
        `start: ${'(start | "a")* '.repeat(4000)}"b"`,
        `start: a\na: (a? a?)*\n%ignore /(.?)*/\n%ignore /[^a]{9999}/`,
        `start: /${'(a|b|[^c]){1,99}'.repeat(190)}/i`,
        `start: A~1..19999 A~1..19999\nA: "a".."\\U0010ffff"`,
        `start: /${'a?'.repeat(9000)}${'a'.repeat(9000)}/`,
        `"${'\\'.repeat(60_000)}`,
        `start: ${'"a" '.repeat(16_000)}`,
      ];
      const bodies = definitions.flatMap((definition) => {
        const format = { type: 'grammar', syntax: 'lark', definition };
        const custom = { name: 'a', format: { type: 'grammar', grammar: format } };
        return [
          ['/v1/responses', { input: 'Hi', tools: [{ type: 'custom', name: 'a', format }] }],
          [PATH, ask({ tools: [{ type: 'custom', custom }], tool_choice: 'required' })],
          [PATH, ask({ guided_grammar: definition })],
        ] as const;
      });
      await sendAll(attacker, bodies);
    },
  },
  {
    name: 'thousand tools that must be called',
    async run({ attacker }) {
      const parameters = doubling(6);
      const tools = Array.from({ length: 1000 }, (_, index) => ({
        type: 'function',
        function: { name: `tool_${index}`, description: 'x'.repeat(1000), parameters },
      }));
      await sendAll(attacker, [[PATH, ask({ tools, tool_choice: 'required' })]]);
    },
  },
];

function sendable([path, body]: readonly [string, object] = [PATH, {}]) {
  return [path, { body }] as const;
}
