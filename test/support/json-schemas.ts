/** Twenty schemas as people write them, each with texts that end soon. */
const word = { type: 'string', maxLength: 12 };

export const JSON_SCHEMAS: Readonly<Record<string, object>> = {
  person: {
    type: 'object',
    properties: { name: word, age: { type: 'integer', minimum: 0, maximum: 120 } },
    required: ['name', 'age'],
    additionalProperties: false,
  },
  optionals: {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'boolean' }, c: { type: 'null' } },
  },
  someRequired: {
    type: 'object',
    properties: { a: { type: 'boolean' }, b: { type: 'boolean' }, c: word, d: { type: 'boolean' } },
    required: ['b', 'd'],
  },
  nested: {
    type: 'object',
    properties: {
      user: {
        type: 'object',
        properties: { id: { type: 'integer' }, tags: { type: 'array', items: word, maxItems: 3 } },
        required: ['id', 'tags'],
      },
    },
    required: ['user'],
  },
  enumeration: { enum: [1, null, -2.5, true, 'red', 'say "blue"', 'tab\there', 'é'] },
  constant: { const: 'it says "\\"' },
  listOfNumbers: { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 5 },
  tuple: {
    type: 'array',
    prefixItems: [{ type: 'integer' }, { type: 'boolean' }, word],
    items: false,
    minItems: 3,
  },
  union: { anyOf: [{ type: 'integer', minimum: 10 }, { type: 'boolean' }, word] },
  discriminated: {
    oneOf: [
      {
        type: 'object',
        properties: { kind: { const: 'circle' }, radius: { type: 'number', exclusiveMinimum: 0 } },
        required: ['kind', 'radius'],
      },
      {
        type: 'object',
        properties: { kind: { const: 'square' }, side: { type: 'integer', exclusiveMinimum: 0 } },
        required: ['kind', 'side'],
      },
    ],
  },
  nullable: { type: ['string', 'null'], maxLength: 5 },
  probability: { type: 'number', minimum: 0, maximum: 1 },
  temperature: { type: 'number', minimum: -12.5, maximum: 40.25 },
  safeIntegers: {
    type: 'array',
    items: { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
    maxItems: 3,
  },
  largeRange: { type: 'integer', minimum: -987, maximum: 123_456 },
  pattern: { type: 'string', pattern: '^[A-Z]{2,3}-\\d{4}("[^x]")?\\\\?$' },
  formats: {
    type: 'object',
    properties: {
      day: { type: 'string', format: 'date' },
      at: { type: 'string', format: 'date-time' },
      mail: { type: 'string', format: 'email' },
      id: { type: 'string', format: 'uuid' },
      host: { type: 'string', format: 'ipv4' },
    },
    required: ['day', 'at', 'mail', 'id', 'host'],
  },
  references: {
    $defs: {
      point: {
        type: 'object',
        properties: { x: { $ref: '#/$defs/coordinate' }, y: { $ref: '#/$defs/coordinate' } },
        required: ['x', 'y'],
      },
      coordinate: { type: 'integer', minimum: -9, maximum: 9 },
    },
    type: 'array',
    items: { $ref: '#/$defs/point' },
    minItems: 1,
    maxItems: 3,
  },
  recursive: {
    $defs: {
      node: {
        type: 'object',
        properties: {
          value: { type: 'boolean' },
          next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
        },
        required: ['value', 'next'],
      },
    },
    $ref: '#/$defs/node',
  },
  composed: {
    allOf: [
      { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
      { properties: { b: { type: 'string', minLength: 1, maxLength: 4 } }, required: ['b'] },
    ],
  },
};
