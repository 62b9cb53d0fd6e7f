/** Drawn schemas with bounded strings, and values of them as a model may write them. */
import * as fc from 'fast-check';

export interface Bounded {
  readonly schema: object;
  /** JSON text of a valid value, in the grammar's layout. */
  readonly text: fc.Arbitrary<string>;
}

const CHARACTERS = ['a', 'b', 'é', '日', '😀', '"', '\\', '\n', ' ', '/', ':', ',', '}', '\u0007'];

/** One of the ways in which JSON writes a character, other than surrogates. */
const written = fc
  .tuple(fc.constantFrom(...CHARACTERS), fc.boolean())
  .map(([character, isEscaped]) => {
    const code = character.charCodeAt(0);
    if (character === '/' && isEscaped) return '\\/';
    if (isEscaped && character.length === 1) return `\\u${code.toString(16).padStart(4, '0')}`;
    return JSON.stringify(character).slice(1, -1);
  });

function textOf(min: number, max: number): fc.Arbitrary<string> {
  return fc
    .array(written, { minLength: min, maxLength: Math.min(max, min + 12), size: 'max' })
    .map((characters) => `"${characters.join('')}"`);
}

const string: fc.Arbitrary<Bounded> = fc
  .record({ min: fc.nat(4), more: fc.option(fc.nat(5)), hasMin: fc.boolean() })
  .map(({ min, more, hasMin }) => {
    const least = hasMin ? min : 0;
    const most = more === null ? Infinity : least + more;
    return {
      schema: {
        type: 'string',
        ...(hasMin ? { minLength: least } : {}),
        ...(more === null ? {} : { maxLength: most }),
      },
      text: textOf(least, most),
    };
  });

/** Ends with a repeated set of characters. */
const patterned: fc.Arbitrary<Bounded> = fc
  .record({
    pattern: fc.constantFrom('^[a-c ]{1,4}$', '^x[ab]*$', '^(?:ab|c😀)[^"]{0,3}$', '^[é日]{2,}$'),
    maxLength: fc.option(fc.integer({ min: 3, max: 6 }), { nil: undefined }),
  })
  .map(({ pattern, maxLength }) => ({
    schema: { type: 'string', pattern, ...(maxLength === undefined ? {} : { maxLength }) },
    text: fc
      .stringMatching(new RegExp(pattern, 'u'), { maxLength: 10 })
      .filter((text) => Array.from(text).length <= (maxLength ?? Infinity))
      .filter((text) => !/["\\\n]|\p{C}/u.test(text))
      .map((text) => JSON.stringify(text)),
  }));

const other: fc.Arbitrary<Bounded> = fc.constantFrom(
  { schema: { type: 'null' }, text: fc.constant('null') },
  { schema: { type: 'string' }, text: textOf(0, 6) },
  { schema: { const: 'aa' }, text: fc.constant('"aa"') },
  { schema: { enum: ['a"', ['ab']] }, text: fc.constantFrom('"a\\""', '["ab"]') },
);

const NAMES = ['a', 'b', 'name', 'é"', '__proto__'];

export const { schema: boundedSchema } = fc.letrec<{ schema: Bounded }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    { weight: 4, arbitrary: string },
    { weight: 2, arbitrary: patterned },
    { weight: 1, arbitrary: other },
    {
      weight: 3,
      arbitrary: fc
        .dictionary(fc.constantFrom(...NAMES), tie('schema'), { minKeys: 1 })
        .map(object),
    },
    { weight: 2, arbitrary: fc.tuple(tie('schema'), fc.nat(2)).map(list) },
    { weight: 1, arbitrary: fc.tuple(tie('schema'), tie('schema')).map(pair) },
    { weight: 2, arbitrary: fc.tuple(tie('schema'), tie('schema')).map(either) },
    { weight: 1, arbitrary: fc.tuple(string, tie('schema')).map(map) },
  ),
}));

function object(members: Record<string, Bounded>): Bounded {
  const entries = Object.entries(members);
  const properties = Object.fromEntries(entries.map(([name, { schema }]) => [name, schema]));
  const texts = fc.tuple(...entries.map(([, { text }]) => text));
  return {
    schema: { type: 'object', properties, required: Object.keys(members) },
    text: texts.map((values) => {
      const pairs = values.map(
        (value, index) => `${JSON.stringify(entries[index]?.[0])}: ${value}`,
      );
      return `{${pairs.join(', ')}}`;
    }),
  };
}

function list([item, minItems]: [Bounded, number]): Bounded {
  return {
    schema: { type: 'array', items: item.schema, minItems, maxItems: 3 },
    text: fc
      .array(item.text, { minLength: minItems, maxLength: 3 })
      .map((items) => `[${items.join(', ')}]`),
  };
}

function pair([first, second]: [Bounded, Bounded]): Bounded {
  const prefixItems = [first.schema, second.schema];
  return {
    schema: { type: 'array', prefixItems, items: false, minItems: 2, maxItems: 2 },
    text: fc.tuple(first.text, second.text).map((items) => `[${items.join(', ')}]`),
  };
}

function either([first, second]: [Bounded, Bounded]): Bounded {
  return {
    schema: { anyOf: [first.schema, second.schema] },
    text: fc.oneof(first.text, second.text),
  };
}

/** Keys are bounded too; there is one, since it may not come twice. */
function map([key, value]: [Bounded, Bounded]): Bounded {
  return {
    schema: {
      type: 'object',
      propertyNames: key.schema,
      additionalProperties: value.schema,
      maxProperties: 1,
    },
    text: fc.tuple(key.text, value.text).map(([name, inner]) => `{${name}: ${inner}}`),
  };
}
