/** Makes inputs of inputs: bytes, words of a dictionary, pieces of others, and values of JSON. */

/** Mulberry32: the same numbers of the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** @returns a whole number from 0 to `end` - 1 */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }

  of<T>(items: readonly T[], otherwise: T): T {
    return items[this.below(items.length)] ?? otherwise;
  }
}

const NUMBERS = [
  0n,
  1n,
  7n,
  127n,
  255n,
  2n ** 16n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 53n,
  2n ** 63n,
];

/** Texts that mean something to readers of text. */
const TEXTS = [
  ...[
    '',
    '\0',
    '\r\n',
    '\r\n\r\n',
    '"',
    '\\',
    '\\ud83d',
    '\u{1F600}',
    '\u{FEFF}',
    '%',
    '%00',
    '%E0',
  ],
  ...['..', '/', '$`', '$&', '__proto__', 'constructor', '-1', '1e999', '9007199254740993', 'NaN'],
  ...['null', 'true', '[]', '{}', '[[[[', '{"a":'],
];

const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 2 ** 31, 2 ** 53, 1e308, '', 'a', '\0', '\ud83d', '\u{1F600}'],
  ...[[], {}, [[]], [null], { type: 'function' }, { type: 'text', text: 'a' }],
];

export class Mutator {
  readonly #random: Random;
  readonly #words: readonly Buffer[];
  readonly #maxBytes: number;

  constructor(random: Random, dictionary: readonly string[], maxBytes: number) {
    this.#random = random;
    this.#words = [...TEXTS, ...dictionary].map((word) => Buffer.from(word));
    this.#maxBytes = maxBytes;
  }

  /** @param other an input that pieces are taken of */
  mutate(input: Buffer, other: Buffer): Buffer {
    let bytes = input;
    for (let times = 1 + this.#random.below(4); times > 0; times--)
      bytes = this.#once(bytes, other);
    return bytes.subarray(0, this.#maxBytes);
  }

  #once(input: Buffer, other: Buffer): Buffer {
    const random = this.#random;
    const at = random.below(input.length + 1);
    const end = Math.min(input.length, at + 1 + random.below(random.below(4) === 0 ? 64 : 8));
    const [head, piece, tail] = [
      input.subarray(0, at),
      input.subarray(at, end),
      input.subarray(end),
    ];
    switch (random.below(11)) {
      case 0:
        return Buffer.concat([head, Buffer.from([random.below(256)]), tail]);
      case 1: {
        const flipped = Buffer.from(piece);
        if (flipped.length > 0) flipped[0] = (flipped[0] ?? 0) ^ (1 << random.below(8));
        return Buffer.concat([head, flipped, tail]);
      }
      case 2:
        return Buffer.concat([head, tail]);
      case 3:
        return Buffer.concat([
          head,
          ...Array.from({ length: 1 + random.below(40) }, () => piece),
          tail,
        ]);
      case 4:
        return Buffer.concat([head, this.#number(), tail]);
      case 5:
        return Buffer.concat([head, random.of(this.#words, Buffer.alloc(0)), tail]);
      case 6:
        return Buffer.concat([head, random.of(this.#words, Buffer.alloc(0)), piece, tail]);
      case 7: {
        const from = random.below(other.length + 1);
        const taken = other.subarray(from, from + 1 + random.below(64));
        return Buffer.concat([
          head,
          taken,
          random.below(2) === 0 ? tail : Buffer.concat([piece, tail]),
        ]);
      }
      case 8:
        return Buffer.concat([head, other.subarray(random.below(other.length + 1))]);
      default:
        return this.#json(input);
    }
  }

  #number(): Buffer {
    const bytes = Buffer.alloc(8);
    const value = this.#random.of(NUMBERS, 0n);
    if (this.#random.below(2) === 0) bytes.writeBigUInt64LE(value);
    else bytes.writeBigUInt64BE(value);
    const width = 1 << this.#random.below(4);
    return this.#random.below(2) === 0 ? bytes.subarray(0, width) : bytes.subarray(8 - width);
  }

  /** Changes one value of the first JSON in a text, if there is any. */
  #json(input: Buffer): Buffer {
    const text = input.toString('latin1');
    const start = text.indexOf('{');
    if (start < 0) return input;
    const end = text.lastIndexOf('}') + 1;
    try {
      const changed = this.#changed(JSON.parse(input.toString('utf8', start, end)), 0);
      const json = Buffer.from(JSON.stringify(changed) ?? 'null');
      return Buffer.concat([input.subarray(0, start), json, input.subarray(end)]);
    } catch {
      return input;
    }
  }

  #changed(value: unknown, depth: number): unknown {
    const random = this.#random;
    if (typeof value !== 'object' || value === null || random.below(3 + depth) === 0)
      return this.#value(value);
    if (Array.isArray(value)) {
      const items: unknown[] = [...(value as unknown[])];
      const at = random.below(items.length);
      items.splice(at, random.below(4) === 0 ? 0 : 1, this.#changed(items[at], depth + 1));
      return items;
    }
    const fields = Object.entries(value);
    const at = random.below(fields.length + 1);
    const [name, field] = fields[at] ?? [random.of(this.#words, Buffer.from('a')).toString(), null];
    const changed: unknown = random.below(8) === 0 ? undefined : this.#changed(field, depth + 1);
    return { ...value, [name]: changed };
  }

  #value(value: unknown): unknown {
    const random = this.#random;
    const word = random.of(this.#words, Buffer.alloc(0)).toString();
    const kinds = [word, [value], [value, value], { [word]: value }, JSON.stringify(value)];
    return random.below(2) === 0 ? random.of(VALUES, null) : random.of<unknown>(kinds, word);
  }
}
