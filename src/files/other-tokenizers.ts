/** Files of tokenizers in other forms than tokenizer.json. */
const NAMES: readonly string[] = [
  'tokenizer.model',
  'tekken.json',
  'tiktoken.model',
  'hy.tiktoken',
  'spiece.model',
  'vocab.json',
  'vocab.txt',
];

const PROGRAM =
  'import sys, transformers as t; p = sys.argv[1]; t.AutoTokenizer.from_pretrained(p).save_pretrained(p)';

/**
 * Says what a model has in place of tokenizer.json, and how to make that.
 * @param names of its files
 * @returns null if it has tokenizer.json, or nothing in its place
 */
export function otherTokenizers(names: readonly string[]): string | null {
  const others = names.filter((name) => NAMES.includes(name));
  if (names.includes('tokenizer.json') || others.length === 0) return null;
  return (
    `its tokenizer is ${others.join(', ')}, of which Transformers can make tokenizer.json, in a folder with the ` +
    `model: python3 -c '${PROGRAM}' FOLDER`
  );
}
