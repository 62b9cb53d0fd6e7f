import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { choiceEbnf } from '../../../src/grammar/ebnf.ts';
import { regexToEbnf } from '../../../src/grammar/regex-parser.ts';
import { PLAIN_CHARACTERS } from '../../../src/grammar/regex-tree.ts';
import { schemaToEbnf } from '../../../src/grammar/schema-ebnf.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { EOS, textOf } from '../../support/grammar-vocabulary.ts';
import { JSON_SCHEMAS } from '../../support/json-schemas.ts';
import { everyOrLong, orLong } from '../../support/long-runs.ts';
import { RandomTextEngine, type RandomTextOptions } from '../../support/random-text-engine.ts';

const shared = new RandomTextEngine();
const speculating = new RandomTextEngine({ speculates: true });
afterAll(() => {
  for (const { grammars } of [shared, speculating]) grammars.release();
});
let opened: RandomTextEngine[] = [];
afterEach(() => {
  for (const { grammars } of opened) grammars.release();
  opened = [];
});

function open(options: RandomTextOptions = {}): RandomTextEngine {
  const engine = new RandomTextEngine(options);
  opened.push(engine);
  return engine;
}

let lastId = 100;

function constrained(id: number, ebnf: string, overrides: object = {}) {
  return engineRequest({
    id,
    grammar: { ebnf, field: 'test' },
    maxTokens: 1500,
    stopTokenIds: [EOS],
    sampling: { temperature: 1, seed: BigInt(id) },
    ...overrides,
  });
}

const regex = (pattern: string) => `root ::= ${regexToEbnf(pattern, PLAIN_CHARACTERS)}\n`;

/** The texts of several seeds, without their ends. */
async function generate(ebnf: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => ++lastId);
  for (const id of ids) await shared.add(constrained(id, ebnf));
  await shared.runToEnd();
  return ids.map((id) => {
    expect(shared.outputs.get(id)?.at(-1)).toMatchObject({ tokenId: EOS, finishReason: 'stop' });
    return textOf(shared.tokensOf(id));
  });
}

describe('constrained sequences', () => {
  it.each(Object.entries(JSON_SCHEMAS))('keep to the schema %s', async (_, schema) => {
    const check = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema);
    const texts = await generate(schemaToEbnf(schema), orLong(2, 12));
    for (const text of texts) {
      const result = check.safeParse(JSON.parse(text));
      expect({ text, error: result.error?.message }).toEqual({ text, error: undefined });
    }
  });

  it.each(['[a-c]+x{2,3}', '(ab|cd)*\\.[^a-z\\s]', '\\d{4}-\\d\\d?', 'say "(hi|yo)"!?'])(
    'keep to the regular expression %s',
    async (pattern) => {
      const expression = new RegExp(`^(?:${pattern})$`);
      for (const text of await generate(regex(pattern), 8)) expect(text).toMatch(expression);
    },
  );

  it('take every choice, and no other text', async () => {
    const choices = ['yes', 'no', 'say "maybe"', 'back\\slash'];
    const texts = await generate(choiceEbnf(choices), 16);
    expect(new Set(texts)).toEqual(new Set(choices));
  });

  it('write what patterns match as JSON has it', async () => {
    const pattern = '^[^a-zA-Z0-9]{8}.{4}[ -~]{4}"$';
    const texts = await generate(schemaToEbnf({ type: 'string', pattern }), 12);
    for (const text of texts) expect(JSON.parse(text)).toMatch(new RegExp(pattern));
  });

  it('write constants of any kind in one layout', async () => {
    const ebnf = schemaToEbnf({ enum: [{ kind: 'fixed', value: [1, 2] }, [], { a: {} }] });
    const texts = new Set(await generate(ebnf, 16));
    expect(texts).toEqual(new Set(['{"kind": "fixed", "value": [1, 2]}', '[]', '{"a": {}}']));
  });

  it('keep to an EBNF grammar', async () => {
    const texts = await generate('root ::= "(" root ")" | "[" [0-9] "]"', 8);
    for (const text of texts) expect(text).toMatch(/^(\(*)\[\d\]\)*$/);
  });

  it('generate the same beside others, and after a restart in the middle', async () => {
    const schema = { type: 'array', items: { type: 'integer' }, minItems: 8, maxItems: 8 };
    const ebnf = schemaToEbnf(schema);
    const alone = open();
    await alone.add(constrained(7, ebnf));
    await alone.runToEnd();
    const whole = alone.tokensOf(7);
    const others = open();
    for (const id of [1, 2, 3]) await others.add(constrained(id, regex('[a-z]{50}')));
    const half = Int32Array.from(whole.slice(0, whole.length >> 1));
    await others.add(constrained(7, ebnf, { outputTokenIds: half }));
    await others.runToEnd();
    expect(others.tokensOf(7)).toEqual(whole.slice(half.length));
  });

  it('do not hold up others', async () => {
    const engine = open();
    await engine.add(constrained(1, regex('[a-z]{40}')));
    engine.engine.add(engineRequest({ id: 2, maxTokens: 40, sampling: { temperature: 1 } }));
    await engine.runToEnd();
    // One step for each token, the prompt's with the first: it was never skipped.
    expect(engine.decoder.stepsOf.get(2)).toBe(40);
    expect(engine.tokensOf(1)).toHaveLength(41);
  });

  it('end where the grammar ends, whatever min_tokens says', async () => {
    const engine = open();
    await engine.add(constrained(1, 'root ::= "abc"', { minTokens: 20 }));
    await engine.runToEnd();
    expect(textOf(engine.tokensOf(1))).toBe('abc');
  });

  it('are refused when the grammar is wrong, and the next one runs', async () => {
    const engine = open();
    await expect(engine.add(constrained(1, 'root ::= "a" missing'))).rejects.toThrow(
      'Rule "missing" is not defined',
    );
    await engine.add(constrained(2, 'root ::= "ab"'));
    await engine.runToEnd();
    expect(textOf(engine.tokensOf(2))).toBe('ab');
  });

  it('go on when the compile of another grammar is killed', async () => {
    const engine = open({ timeoutMs: 1500 });
    await engine.add(constrained(1, regex('[a-z]{1000}')));
    await engine.add(constrained(2, regex('[0-9]{1000}')));
    const hostile = `root ::= ${'("a" | "b"){1,300} '.repeat(200)}`;
    const refused = engine.add(constrained(3, hostile)).then(() => 'taken', String);
    await engine.runToEnd();
    expect(await refused).toContain('takes longer than 1.5 s');
    await engine.runToEnd();
    expect(textOf(engine.tokensOf(1))).toMatch(/^[a-z]{1000}$/);
    expect(textOf(engine.tokensOf(2))).toMatch(/^\d{1000}$/);
  });
});

describe('drafts of constrained sequences', () => {
  it.each(everyOrLong(2, Object.entries(JSON_SCHEMAS)))(
    'change no text of the schema %s',
    async (_, schema) => {
      const ebnf = schemaToEbnf(schema);
      const ids = Array.from({ length: orLong(2, 6) }, () => ++lastId);
      for (const engine of [shared, speculating]) {
        for (const id of ids) {
          await engine.add(constrained(id, ebnf));
          if (id % 2 === 0) await engine.runToEnd();
        }
        await engine.runToEnd();
      }
      for (const id of ids) {
        expect(shared.outputs.get(id)?.at(-1)).toMatchObject({ finishReason: 'stop' });
        expect(speculating.tokensOf(id)).toEqual(shared.tokensOf(id));
      }
    },
  );

  const KEYS = schemaToEbnf({
    type: 'object',
    properties: { first_name: { type: 'boolean' }, last_name: { enum: ['x', 'yes'] } },
    required: ['first_name', 'last_name'],
  });

  it('save steps where a text is forced', async () => {
    const engine = open({ speculates: true });
    for (let id = 1; id <= 20; id++) {
      await engine.add(constrained(id, KEYS));
      await engine.runToEnd();
    }
    const { numSteps, numForcedDraftTokens, numForcedAcceptedTokens } = engine.engine.stats;
    const numTokens = [...engine.outputs.values()].flat().length;
    expect(numSteps).toBeLessThan(numTokens);
    expect(numForcedAcceptedTokens).toBeGreaterThan(0);
    expect(numForcedAcceptedTokens).toBeLessThanOrEqual(numForcedDraftTokens);
  });

  it.each([false, true])(
    'fail where a rule leads nowhere (with drafts: %s)',
    async (speculates) => {
      const engine = open({ speculates });
      const circular = 'root ::= "a" "b" "c" circle\ncircle ::= circle\n';
      await engine.add(constrained(1, circular));
      await engine.runToEnd();
      expect(textOf(engine.tokensOf(1))).toBe('abc');
      expect(engine.outputs.get(1)?.at(-1)).toMatchObject({
        finishReason: 'error',
        error: 'the text cannot go on within its grammar',
        isOfGrammar: true,
      });
    },
  );

  it('end somewhere where the grammar forces a text without end', async () => {
    const engine = open({ speculates: true });
    const endless = 'root ::= "a" loop\nloop ::= "b" loop\n';
    await engine.add(constrained(1, endless, { maxTokens: 60 }));
    await engine.runToEnd();
    expect(textOf(engine.tokensOf(1))).toBe(`a${'b'.repeat(59)}`);
  });
});
