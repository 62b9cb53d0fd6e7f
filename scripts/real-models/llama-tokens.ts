/**
 * Tokens that llama.cpp's tokenizer makes of 10,000 texts, as hashes in a fixture, for the tests to compare
 * with: `npx tsx scripts/real-models/llama-tokens.ts <fixture.json>`, after `npm ci` in
 * scripts/bench/peers, which has llama.cpp as a package.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tokenHashes } from '../../test/support/token-hashes.ts';
import { realModelPath } from './models.ts';

/** Parts of node-llama-cpp that are used here. */
interface LlamaModule {
  getLlama(
    this: void,
    options: object,
  ): Promise<{
    loadModel(options: object): Promise<{
      tokenize(text: string, specialTokens: boolean): number[];
    }>;
    dispose(): Promise<void>;
  }>;
}

const [fixture = ''] = process.argv.slice(2);
const peers = createRequire(new URL('../bench/peers/package.json', import.meta.url));
const module: string = peers.resolve('node-llama-cpp');
const { getLlama }: LlamaModule = await import(module);
const llama = await getLlama({ gpu: false, build: 'never', skipDownload: true, logLevel: 'error' });
const modelPath = realModelPath('smollm2-135m-instruct-q4_1');
const model = await llama.loadModel({ modelPath, vocabOnly: true });
const known: object = JSON.parse(await readFile(fixture, 'utf8'));
const hashes = tokenHashes((text) => model.tokenize(text, false));
await writeFile(fixture, `${JSON.stringify({ ...known, llamaTokenHashes: hashes })}\n`);
await llama.dispose();
