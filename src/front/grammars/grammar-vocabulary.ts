import type { GrammarVocabulary } from '../../grammar/grammar-spec.ts';
import type { TextTokenizer } from '../text/tokenizer.ts';

/** Special tokens that open a tool call: the only ones a grammar may write. */
const MARKERS: ReadonlySet<string> = new Set(['[TOOL_CALLS]', '<|python_tag|>', '<tool_call>']);

/** What grammars need to know of the tokenizer. @param vocabSize length of the model's logits */
export function grammarVocabulary(tokenizer: TextTokenizer, vocabSize: number): GrammarVocabulary {
  const tokens = Array.from({ length: Math.min(tokenizer.vocabSize, vocabSize) }, (_, id) => {
    const token = tokenizer.idToToken(id);
    if (token === undefined || (tokenizer.isSpecial(id) && !MARKERS.has(token))) return '';
    const piece = tokenizer.pieces.get(id) ?? '';
    const bytes = typeof piece === 'string' ? new TextEncoder().encode(piece) : piece;
    return Array.from(bytes, (byte) => CHARACTER_OF_BYTE[byte] ?? '').join('');
  });
  return { tokens, vocabSize, eosTokenIds: tokenizer.eosTokenIds };
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
