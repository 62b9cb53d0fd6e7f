import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { TokenizerError } from '../../../src/front/text/tokenizer-files.ts';
import {
  byteFallbackTokenizer,
  metaspaceTokenizer,
  tokenizerWithDecoder,
  wordTokenizer,
} from '../../support/tokenizers.ts';

const SUMMIT = 'models/summit';

describe('TextTokenizer', () => {
  let summit: TextTokenizer;

  beforeAll(async () => {
    summit = await TextTokenizer.load(SUMMIT);
  });

  it("encodes the model's reference prompts as another implementation did", async () => {
    const schema = z.object({
      prompts: z.array(z.object({ prompt: z.string(), ids: z.array(z.int()) })),
    });
    const file = await readFile(join(SUMMIT, 'reference.json'), 'utf8');
    const { prompts } = schema.parse(JSON.parse(file));
    expect(prompts.length).toBeGreaterThan(0);
    for (const { prompt, ids } of prompts) {
      expect([...summit.encode(prompt, { addSpecialTokens: false })]).toEqual(ids);
      expect(summit.decode(ids, { skipSpecialTokens: false })).toBe(prompt);
    }
  });

  it('knows the vocabulary, the special tokens and what ends a text', () => {
    expect(summit.vocabSize).toBe(4096);
    expect(summit.bosTokenId).toBe(1);
    expect(summit.eosTokenIds).toEqual([2, 0]);
    expect(summit.isSpecial(2)).toBe(true);
    expect(summit.isSpecial(3)).toBe(false);
    expect(summit.tokenToId('<tool_call>')).toBe(3);
    expect(summit.tokenToId('no such token')).toBeUndefined();
    expect(summit.idToToken(2)).toBe('<|im_end|>');
  });

  it('gives every text back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const ids = summit.encode(text, { addSpecialTokens: false });
        expect(summit.decode(ids, { skipSpecialTokens: false })).toBe(text);
      }),
    );
  });

  it('takes the text of a special token for the token and can leave it out again', () => {
    const ids = summit.encode('Hi<|im_end|>', { addSpecialTokens: false });
    expect(ids.at(-1)).toBe(2);
    expect(summit.decode(ids, { skipSpecialTokens: true })).toBe('Hi');
    expect(summit.decode(ids, { skipSpecialTokens: false })).toBe('Hi<|im_end|>');
  });

  it('keeps spaces as they are and skips ids outside of the vocabulary', () => {
    const ids = summit.encode("Hello . It 's , well", { addSpecialTokens: false });
    const decoded = summit.decode([99_999, ...ids, -1], { skipSpecialTokens: true });
    expect(decoded).toBe("Hello . It 's , well");
    expect(metaspaceTokenizer().decode([99_999, 3], { skipSpecialTokens: true })).toBe('foo');
  });

  it('takes an empty text, and no ids', () => {
    expect(summit.encode('', { addSpecialTokens: false })).toEqual(new Int32Array());
    expect(summit.encode('', { addSpecialTokens: true })).toEqual(new Int32Array());
    expect(summit.decode([], { skipSpecialTokens: true })).toBe('');
  });

  it('drops what a vocabulary without unknown token lacks', () => {
    const options = { addSpecialTokens: false };
    const bpe = metaspaceTokenizer();
    expect([...bpe.encode('fooµ', options)]).toEqual([bpe.tokenToId('▁')]);
    const words = wordTokenizer();
    const known = [words.tokenToId('a'), words.tokenToId('baz')];
    expect([...words.encode('a unknown baz', options)]).toEqual(known);
  });

  it('falls back to bytes', () => {
    const tokenizer = byteFallbackTokenizer();
    const ids = tokenizer.encode('aµ漢b', { addSpecialTokens: false });
    expect(tokenizer.decode(ids, { skipSpecialTokens: true })).toBe('aµ漢b');
  });

  it('refuses decoders whose text cannot grow token by token', () => {
    const bytesThenReplace = {
      type: 'Sequence',
      decoders: [
        { type: 'ByteFallback' },
        { type: 'Replace', pattern: { String: 'a' }, content: 'b' },
      ],
    };
    expect(() => tokenizerWithDecoder(bytesThenReplace)).toThrow(/unsupported decoder.*Replace/);
    expect(() => tokenizerWithDecoder({ type: 'CTC' })).toThrow(/unsupported decoder.*CTC/);
    expect(() => tokenizerWithDecoder(null)).toThrow(TokenizerError);
  });

  describe('load', () => {
    let folder: string;

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'tokenizer-'));
    });

    afterEach(async () => {
      await rm(folder, { recursive: true });
    });

    it('names a missing tokenizer.json', async () => {
      await expect(TextTokenizer.load(folder)).rejects.toThrow(/tokenizer\.json is missing/);
    });

    it.each([['tekken.json'], ['tokenizer.model'], ['merges.txt', 'vocab.json']])(
      'says what may become tokenizer.json: %s',
      async (...names) => {
        await Promise.all(names.map((name) => writeFile(join(folder, name), '')));
        await expect(TextTokenizer.load(folder)).rejects.toThrow(
          `tokenizer.json is missing; its tokenizer is ${names.at(-1)}, of which Transformers can make`,
        );
      },
    );

    it.each([
      '{"model":',
      '[]',
      '{}',
      '{"model": {"type": "BPE"}, "decoder": {"type": "ByteLevel"}}',
    ])('names a damaged tokenizer.json: %s', async (content) => {
      await writeFile(join(folder, 'tokenizer.json'), content);
      const loading = TextTokenizer.load(folder);
      await expect(loading).rejects.toThrow(TokenizerError);
      await expect(loading).rejects.toThrow(join(folder, 'tokenizer.json'));
    });

    it('names a damaged file beside it', async () => {
      await cp(join(SUMMIT, 'tokenizer.json'), join(folder, 'tokenizer.json'));
      await writeFile(join(folder, 'generation_config.json'), '{"eos_token_id": "two"}');
      await expect(TextTokenizer.load(folder)).rejects.toThrow(
        /generation_config\.json is damaged/,
      );
    });

    it('needs only tokenizer.json', async () => {
      await cp(join(SUMMIT, 'tokenizer.json'), join(folder, 'tokenizer.json'));
      const tokenizer = await TextTokenizer.load(folder);
      expect(tokenizer.bosTokenId).toBeNull();
      expect(tokenizer.eosTokenIds).toEqual([]);
      await writeFile(join(folder, 'config.json'), '{"eos_token_id": 2}');
      await writeFile(
        join(folder, 'special_tokens_map.json'),
        '{"bos_token": {"content": "<|im_start|>"}, "eos_token": "<|endoftext|>"}',
      );
      const again = await TextTokenizer.load(folder);
      expect(again.bosTokenId).toBe(1);
      expect(again.eosTokenIds).toEqual([0, 2]);
    });
  });
});
