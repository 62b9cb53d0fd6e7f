/** Pre-tokenizers of tokenizer.json in which the library and Hugging Face's own differ, as ones in which they agree. */
import { z } from 'zod';

const step = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('Sequence'), pretokenizers: z.array(z.unknown()) }),
  z.looseObject({ type: z.literal('Digits'), individual_digits: z.boolean().default(false) }),
  z.looseObject({
    type: z.literal('ByteLevel'),
    add_prefix_space: z.boolean().default(true),
    use_regex: z.boolean().default(true),
  }),
  z.looseObject({ type: z.literal('Punctuation'), behavior: z.string().default('Isolated') }),
  z.looseObject({
    type: z.literal('Split'),
    pattern: z.union([
      z.object({ Regex: z.string() }).transform(({ Regex }) => Regex),
      z.object({ String: z.string() }).transform(({ String: text }) => escaped(text)),
    ]),
    behavior: z.enum(['MergedWithNext', 'Contiguous']),
    invert: z.literal(false).default(false),
  }),
]);

/** Pattern by which ByteLevel splits. */
const WORDS = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

/** A character of punctuation: those of Unicode, and all of ASCII's signs. */
const SIGN = String.raw`[\p{P}$+<=>^\x60|~]`;

const split = (pattern: string) => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior: 'Isolated',
  invert: false,
});

/** @param value `pre_tokenizer`, or a step of it */
export function exactPreTokenizer(value: unknown): unknown {
  const known = step.safeParse(value).data;
  switch (known?.type) {
    case undefined:
      return value;
    case 'Sequence':
      return { ...known, pretokenizers: known.pretokenizers.map(exactPreTokenizer) };
    case 'Digits':
      // The library's digits are 0 to 9, and not all numbers such as ½.
      return split(known.individual_digits ? String.raw`\p{N}` : String.raw`\p{N}+`);
    case 'ByteLevel': {
      // In the library's own pattern the byte order mark is a space. With a prefix, words are not ours to cut.
      if (known.add_prefix_space || !known.use_regex) return value;
      const pretokenizers = [split(WORDS), { ...known, use_regex: false }];
      return { type: 'Sequence', pretokenizers };
    }
    case 'Punctuation':
      // The library knows no behavior but `Contiguous`.
      return exactPreTokenizer({ ...split(SIGN), behavior: known.behavior });
    case 'Split': {
      // The library takes both for `Isolated`.
      const match = `(?:${known.pattern})`;
      const isContiguous = known.behavior === 'Contiguous';
      return split(isContiguous ? `${match}+` : String.raw`${match}(?:(?!${match})[\s\S])*`);
    }
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
