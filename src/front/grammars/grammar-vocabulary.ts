import { setImmediate } from 'node:timers/promises';
import type { GrammarVocabulary } from '../../grammar/grammar-spec.ts';
import type { TextTokenizer } from '../text/tokenizer.ts';

/** Special tokens that open a tool call: the only ones a grammar may write. */
const MARKERS: ReadonlySet<string> = new Set(['[TOOL_CALLS]', '<|python_tag|>', '<tool_call>']);

/** Spelling them out takes up to 3 ms. */
const TOKENS_PER_TURN = 1024;

/**
 * Vocabulary for grammars. For 250,000 tokens that are not spelled as GPT-2 does this takes half a second, and a
 * model may be loaded while others serve: so it yields to the event loop now and then.
 * @param vocabSize length of the model's logits
 */
export async function grammarVocabulary(
  tokenizer: TextTokenizer,
  vocabSize: number,
): Promise<GrammarVocabulary> {
  const tokens: string[] = [];
  const numTokens = Math.min(tokenizer.vocabSize, vocabSize);
  for (let id = 0; id < numTokens; id++) {
    if (id % TOKENS_PER_TURN === TOKENS_PER_TURN - 1) await setImmediate();
    tokens.push(spelled(tokenizer, id));
  }
  return { tokens, vocabSize, eosTokenIds: tokenizer.eosTokenIds };
}

function spelled(tokenizer: TextTokenizer, id: number): string {
  const token = tokenizer.idToToken(id);
  if (token === undefined || (tokenizer.isSpecial(id) && !MARKERS.has(token))) return '';
  if (tokenizer.pieces.isByteLevel(id)) return token;
  return byteLevel(tokenizer.pieces.get(id) ?? '');
}

/** A character for each byte, as GPT-2 spells them. */
export function byteLevel(text: string | Uint8Array): string {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  let characters = '';
  for (const byte of bytes) characters += CHARACTER_OF_BYTE[byte];
  return characters;
}

/** GPT-2's printable characters for bytes. */
const CHARACTER_OF_BYTE: readonly string[] = charactersOfBytes();

function charactersOfBytes(): string[] {
  let numMoved = 0;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad);
    return String.fromCharCode(isPrintable ? byte : 256 + numMoved++);
  });
}
