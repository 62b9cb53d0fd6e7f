import { afterAll, describe, expect, it } from 'vitest';
import { GrammarChecker } from '../../../src/front/grammars/grammar-checker.ts';
import { grammarVocabulary } from '../../../src/front/grammars/grammar-vocabulary.ts';
import { schemaToEbnf } from '../../../src/grammar/schema-ebnf.ts';
import { VOCABULARY } from '../../support/grammar-vocabulary.ts';
import { byteFallbackTokenizer } from '../../support/tokenizers.ts';

const checker = new GrammarChecker({ vocabulary: VOCABULARY, timeoutMs: 4000 });
afterAll(() => checker.close());

const patient = { client: '', signal: new AbortController().signal };
const form = (ebnf: string) => ({ kind: 'ebnf' as const, ebnf });
const check = (ebnf: string) => checker.check({ form: form(ebnf), field: 'grammar' }, patient);
const good = () => check(`root ::= "${Math.random()}"`);

describe('the grammar checker', () => {
  it.each([
    ['', 'root rule'],
    ['root ::= "a" b', 'Rule "b" is not defined'],
    ['root ::= (', 'Expect element'],
    ['root ::= "a', 'EBNF'],
    ['no grammar at all', 'EBNF'],
    ['root ::= [z-a]', 'lower bound'],
    ['start ::= "a"', 'root'],
    ['root ::= root', 'allows no text'],
  ])('refuses %j with the reason, and takes the next', async (ebnf, reason) => {
    const refused = check(ebnf);
    await expect(refused).rejects.toThrow(reason);
    await expect(refused).rejects.toMatchObject({ name: 'GrammarError' });
    await expect(refused).rejects.not.toThrow('.cc');
    await good();
  });

  it('ends a compile that takes too long, and takes what waited after it', async () => {
    const hostile = check(`root ::= ${'("a" | "b"){1,300} '.repeat(200)}`);
    const next = good();
    await expect(hostile).rejects.toThrow('takes longer than 4 s');
    await next;
  });

  it('stays whole over many failures', async () => {
    for (let index = 0; index < 60; index++) {
      await expect(check(`root ::= missing${index}`)).rejects.toThrow('is not defined');
    }
    await good();
  });

  it('does nothing for a request that was dropped meanwhile', async () => {
    const grammar = { form: form('root ::= "dropped"'), field: 'grammar' };
    const reason = new Error('gone');
    await expect(
      checker.check(grammar, { client: '', signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
  });
});

describe('the vocabulary of grammars', () => {
  it('has the bytes of every token, and none for special ones', async () => {
    const tokenizer = byteFallbackTokenizer();
    const { tokens, vocabSize } = await grammarVocabulary(tokenizer, tokenizer.vocabSize + 3);
    expect(vocabSize).toBe(tokenizer.vocabSize + 3);
    const idOf = (token: string) => tokenizer.tokenToId(token) ?? -1;
    expect(tokens[idOf('<0x0A>')]).toBe('Ċ');
    expect(tokens[idOf('<0xC3>')]).toBe('Ã');
    for (const [id, token] of tokens.entries()) {
      expect({ token, isEmpty: token === '' }).toEqual({ token, isEmpty: tokenizer.isSpecial(id) });
    }
  });

  it('compiles a schema', async () => {
    const source = { form: { kind: 'json_object' as const }, field: 'response_format' };
    const { ebnf } = await checker.check(source, patient);
    expect(ebnf).toBe(schemaToEbnf({ type: 'object' }));
  });
});
