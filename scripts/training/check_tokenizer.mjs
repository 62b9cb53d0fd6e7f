// Compares @huggingface/tokenizers with the Python encoder on the texts of check_tokenizer.py:
//   node scripts/training/check_tokenizer.mjs FOLDER SAMPLES
// FOLDER holds tokenizer.json and tokenizer_config.json. Exits with 1 if anything differs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Tokenizer } from '@huggingface/tokenizers';

const [folder, samplesFile] = process.argv.slice(2);
if (folder === undefined || samplesFile === undefined) {
  console.error('usage: node check_tokenizer.mjs FOLDER SAMPLES');
  process.exit(1);
}

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));
const tokenizer = new Tokenizer(
  readJson(join(folder, 'tokenizer.json')),
  readJson(join(folder, 'tokenizer_config.json')),
);
const samples = readJson(samplesFile);
let differences = 0;

for (const { text, ids } of samples) {
  const encoded = tokenizer.encode(text, { add_special_tokens: false }).ids;
  if (!isDeepStrictEqual(encoded, ids)) report('other ids', text, encoded);
  const decoded = tokenizer.decode(ids, {
    skip_special_tokens: false,
    clean_up_tokenization_spaces: false,
  });
  if (decoded !== text) report('no round trip', text, decoded);
}
console.log(`${samples.length} texts, ${differences} differences`);
process.exitCode = differences > 0 ? 1 : 0;

function report(kind, text, got) {
  differences += 1;
  console.log(`${kind}: ${JSON.stringify(text)} gave ${JSON.stringify(got)}`);
}
