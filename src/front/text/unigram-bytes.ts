/** Bytes for what is no token of a Unigram model, which the library has for BPE alone. */
import { z } from 'zod';

const model = z.object({ type: z.literal('Unigram'), byte_fallback: z.literal(true) });

/** The part of the library's models that is used here. */
interface UnigramModel {
  encode: (words: readonly string[]) => string[];
  readonly tokens_to_ids: ReadonlyMap<string, number>;
}

/** @param description `model` of tokenizer.json */
export function hasUnigramBytes(description: unknown): boolean {
  return model.safeParse(description).success;
}

/** Changes the library's model, so that texts become what Hugging Face's own library makes of them. */
export function addByteFallback(unigram: object): void {
  if (!isUnigram(unigram)) return;
  const encode = unigram.encode.bind(unigram);
  const ids = unigram.tokens_to_ids;
  unigram.encode = (words) =>
    encode(words).flatMap((token) => {
      if (ids.has(token)) return token;
      const bytes = Array.from(Buffer.from(token), byteToken);
      return bytes.every((byte) => ids.has(byte)) ? bytes : token;
    });
}

function byteToken(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
}

function isUnigram(value: object): value is UnigramModel {
  return 'encode' in value && typeof value.encode === 'function' && 'tokens_to_ids' in value;
}
