/**
 * Text that each token adds, worked out from a tokenizer's decoder so that a text can grow token by
 * token. The decoders of causal language models (byte-level BPE, SentencePiece with or without byte
 * fallback) all work on one token at a time, but for two things: tokens that are part of a character,
 * which are therefore kept as bytes, and a space taken off the front of the whole text.
 */
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { TokenizerError } from './tokenizer-files.ts';

/** Either whole characters, or bytes that make characters with those of the tokens around them. */
export type TokenPiece = string | Uint8Array;

const decoderStep = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('ByteLevel') }),
  z.looseObject({ type: z.literal('ByteFallback') }),
  z.looseObject({ type: z.literal('Fuse') }),
  z.looseObject({ type: z.literal('Metaspace'), replacement: z.string().default('▁') }),
  z.looseObject({
    type: z.literal('Replace'),
    pattern: z.object({ String: z.string() }),
    content: z.string(),
  }),
  z.looseObject({
    type: z.literal('Strip'),
    content: z.string().length(1),
    start: z.int(),
    stop: z.literal(0),
  }),
]);
type DecoderStep = z.infer<typeof decoderStep>;

const decoderConfig = z.union([
  z.object({ type: z.literal('Sequence'), decoders: z.array(decoderStep) }),
  decoderStep.transform((step) => ({ decoders: [step] })),
]);

export class TokenPieces {
  /** Whether bytes at the start of a run may be a byte order mark that the decoder drops. */
  readonly ignoreBOM: boolean;
  /** The character that is taken off the front of a text, up to `stripCount` times. */
  readonly stripContent: string;
  readonly stripCount: number;
  /** Rule by which tokens become pieces, as text: with the same tokens and the same rule, texts are the same. */
  readonly rule: string;
  readonly #steps: readonly DecoderStep[];
  readonly #idToToken: (id: number) => string | undefined;
  readonly #isAdded: (id: number) => boolean;
  readonly #cache = new Map<number, TokenPiece>();

  /**
   * @param config the `decoder` of tokenizer.json
   * @param idToToken the vocabulary, added tokens included
   * @throws TokenizerError if the decoder is of a kind whose text can't grow token by token.
   */
  constructor(
    config: unknown,
    idToToken: (id: number) => string | undefined,
    isAdded: (id: number) => boolean,
  ) {
    const parsed = decoderConfig.safeParse(config);
    if (!parsed.success) throw unsupported(config);
    const { decoders } = parsed.data;
    const fuse = decoders.findIndex((step) => step.type === 'Fuse');
    const perToken = fuse === -1 ? decoders : decoders.slice(0, fuse);
    const overall = fuse === -1 ? [] : decoders.slice(fuse + 1);
    const last = perToken.at(-1);
    // Whether a byte stays is unknown until its character is complete: nothing may come after it.
    const bytesComeLast = perToken
      .slice(0, -1)
      .every((step) => step.type !== 'ByteLevel' && step.type !== 'ByteFallback');
    const strip = overall[0] ?? (last?.type === 'Metaspace' ? last : undefined);
    if (!bytesComeLast || overall.length > 1 || (overall.length === 1 && strip?.type !== 'Strip')) {
      throw unsupported(config);
    }
    this.stripContent = strip?.type === 'Strip' ? strip.content : ' ';
    this.stripCount = strip?.type === 'Strip' ? strip.start : strip === undefined ? 0 : 1;
    this.ignoreBOM = last?.type === 'ByteLevel';
    this.rule = JSON.stringify(decoders);
    this.#steps = perToken;
    this.#idToToken = idToToken;
    this.#isAdded = isAdded;
  }

  /** Whether the vocabulary spells a token as GPT-2 does, with a character for each of its bytes. */
  isByteLevel(id: number): boolean {
    const [step, ...others] = this.#steps;
    if (step?.type !== 'ByteLevel' || others.length > 0 || this.#isAdded(id)) return false;
    return ONLY_BYTES.test(this.#idToToken(id) ?? '');
  }

  /** @returns undefined for an id outside the vocabulary, such as a padding row of the embedding. */
  get(id: number): TokenPiece | undefined {
    let piece = this.#cache.get(id);
    if (piece === undefined) {
      const token = this.#idToToken(id);
      if (token === undefined) return undefined;
      piece = this.#steps.reduce<TokenPiece>(
        (value, step) => applyStep(step, value, this.#isAdded(id)),
        token,
      );
      this.#cache.set(id, piece);
    }
    return piece;
  }
}

function unsupported(config: unknown): TokenizerError {
  return new TokenizerError(
    'the tokenizer has an unsupported decoder; supported are ByteLevel, Metaspace, and sequences of ' +
      'Replace and ByteFallback, then Fuse and Strip at the start. Found: ' +
      JSON.stringify(config),
  );
}

function applyStep(step: DecoderStep, piece: TokenPiece, isAdded: boolean): TokenPiece {
  if (typeof piece !== 'string') return piece;
  switch (step.type) {
    case 'ByteLevel':
      return isAdded
        ? piece
        : charactersOf(Uint8Array.from(piece, (char) => BYTE_OF_CHAR.get(char) ?? 0));
    case 'ByteFallback': {
      const hex = /^<0x([0-9A-Fa-f]{2})>$/.exec(piece)?.[1];
      return hex === undefined ? piece : Uint8Array.of(Number.parseInt(hex, 16));
    }
    case 'Metaspace':
      return piece.replaceAll(step.replacement, ' ');
    case 'Replace':
      return piece.replaceAll(step.pattern.String, () => step.content);
    case 'Strip':
      return stripStart(piece, step.content, step.start);
    case 'Fuse':
    default:
      return piece;
  }
}

/** Text, if these bytes are whole characters by themselves. */
function charactersOf(bytes: Uint8Array): TokenPiece {
  return isUtf8(bytes) ? Buffer.from(bytes).toString() : bytes;
}

function stripStart(text: string, content: string, count: number): string {
  let start = 0;
  while (start < count && text[start] === content) start++;
  return text.slice(start);
}

function isPrintable(byte: number): boolean {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xff && byte !== 0xad);
}

/** Characters that stand for bytes: those that are printable, and 68 others for the rest. */
const ONLY_BYTES = /^[!-~\u00a1-\u00ac\u00ae-\u0143]*$/;

/** GPT-2's mapping of bytes to printable characters, the other way round. */
const BYTE_OF_CHAR = byteOfChar();

function byteOfChar(): ReadonlyMap<string, number> {
  const map = new Map<string, number>();
  let numMoved = 0;
  for (let byte = 0; byte < 256; byte++) {
    map.set(String.fromCharCode(isPrintable(byte) ? byte : 256 + numMoved++), byte);
  }
  return map;
}
