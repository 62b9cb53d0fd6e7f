/** JSON texts of at most some 60 KB that are meant to cost more than they look. */
import * as fc from 'fast-check';

/** A text with `parts` repeated so often that it stays in bounds. */
const MAX_CHARACTERS = 60_000;

const repeated = (unit: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(unit, fc.nat({ max: MAX_CHARACTERS }))
    .map(([text, count]) =>
      text.repeat(Math.min(count, MAX_CHARACTERS / Math.max(1, text.length))),
    );

/** Text that tokenizers, templates, regular expressions and JSON itself take a particular way. */
const unit = fc.constantFrom(
  ...['7', 'a', ' ', '\n', '"', '\\', '{', '[', '(', '0', '.', '-', "'", '\0', '\u{FFFD}'],
  ...['e\u0301', '\u{1F469}\u200D\u{1F680}', '\u202E', '\uD800', 'ß', 'İ', '\u00A0', 'ａ'],
  ...['<|im_start|>', '<|im_end|>', '<tool_call>', '</tool_call>', '{{ a }}', '{% for x in y %}'],
  ...['(a?)', '(a+)+', '[a-z]{1,99}', 'a|', '.*', '\\w', '("a" | "b"){1,300} ', 'root ', '::='],
);

const longText = repeated(unit).map((text) => JSON.stringify(text));

const longNumber = fc.oneof(
  repeated(fc.constantFrom('9', '123', '0.5e')).map((digits) => `1${digits.replaceAll(/\D/g, '')}`),
  repeated(fc.constantFrom('0', '9')).map((digits) => `0.${digits}1`),
  fc.constantFrom('1e400', '-1e400', '1e-320', '5e-324', '-0', '1e308', '9007199254740993'),
  fc.constantFrom('-9e15', '18446744073709551616', '2097151', '4294967296', '1e-45'),
);

const item = fc.constantFrom(
  ...['1', '"a"', 'null', '[]', '{}', '[1]', '[[]]', '{"role":"user","content":"x"}', '4095'],
  ...['{"type":"text","text":"x"}', '{"type":"function","function":{"name":"a"}}', '1e400'],
  ...['{"type":"item_reference","id":"msg_1"}', '{"type":"message","role":"user","content":"x"}'],
);

const longList = repeated(item.map((text) => `${text},`)).map((text) => `[${text}0]`);

const deep = fc
  .tuple(
    fc.constantFrom(
      ['[', ']'],
      ['{"a":', '}'],
      ['{"anyOf":[', ']}'],
      ['{"allOf":[', ']}'],
      ['{"items":', '}'],
      ['{"type":"object","properties":{"a":', '}}'],
      ['{"const":', '}'],
    ),
    fc.nat({ max: 8000 }),
  )
  .map(([[open = '', close = ''], depth]) => {
    const times = Math.min(depth, MAX_CHARACTERS / (open.length + close.length));
    return `${open.repeat(times)}1${close.repeat(times)}`;
  });

const wide = fc
  .tuple(fc.nat({ max: 5000 }), fc.constantFrom('1', '"a"', '{}', '{"type":"string"}'))
  .map(([count, value]) => {
    const fields = Array.from({ length: count }, (_, index) => `"${index}":${value}`);
    return `{${fields.join(',')}}`;
  });

/** Small schemas that refer to each other in any way. */
const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<unknown>(
      true,
      { type: 'string' },
      { type: 'integer', minimum: -1e300, maximum: 1e300 },
      { type: 'string', minLength: 100_000, maxLength: 1e9 },
      { type: 'string', pattern: '^(a{1,99}){1,99}$' },
      { type: 'array', minItems: 1e5, maxItems: 1e9 },
      { enum: ['a', 1, null] },
      { $ref: '#' },
    ),
    fc.nat({ max: 3 }).map((index) => ({ $ref: `#/$defs/L${index}` })),
    fc
      .tuple(
        fc.constantFrom('anyOf', 'oneOf', 'allOf'),
        fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
        fc.constantFrom({}, { type: 'object' }, { properties: { a: {} } }),
      )
      .map(([keyword, parts, beside]) => ({ ...beside, [keyword]: parts })),
    fc.array(tie('schema'), { maxLength: 3 }).map((parts) => ({
      type: 'object',
      properties: Object.fromEntries(parts.map((part, index) => [`p${index}`, part])),
      required: parts.map((_, index) => `p${index}`),
    })),
    tie('schema').map((items) => ({ type: 'array', items, minItems: 3, maxItems: 30 })),
  ),
}));

/** 2^depth alternatives. */
function doubling(depth: number): object {
  const level = (index: number) => ({ $ref: `#/$defs/L${index}` });
  const entries = Array.from({ length: depth }, (_, index) => [
    `L${index}`,
    { type: 'object', anyOf: [level(index + 1), level(index + 1)] },
  ]);
  return {
    $defs: { ...Object.fromEntries(entries), [`L${depth}`]: { type: 'null' } },
    ...level(0),
  };
}

export const hostileSchema: fc.Arbitrary<string> = fc.oneof(
  fc.nat({ max: 60 }).map((depth) => JSON.stringify(doubling(depth))),
  fc
    .tuple(schema, fc.array(schema, { minLength: 4, maxLength: 4 }))
    .map(([root, parts]) => {
      const $defs = Object.fromEntries(parts.map((part, index) => [`L${index}`, part]));
      return JSON.stringify(typeof root === 'object' ? { ...root, $defs } : root);
    })
    .filter(({ length }) => length <= MAX_CHARACTERS),
);

/** Any of it. */
export const hostileJson: fc.Arbitrary<string> = fc.oneof(
  longText,
  longNumber,
  longList,
  deep,
  wide,
  hostileSchema,
  fc.array(longNumber, { maxLength: 3 }).map((list) => `[${list.join(',').slice(0, 100)}0]`),
);
