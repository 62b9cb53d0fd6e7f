import { afterEach, describe, expect, it } from 'vitest';
import { GrammarThreads } from '../../../src/engine/constraints/grammar-threads.ts';
import { LIMITS } from '../../../src/limits.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { EOS, textOf, VOCABULARY } from '../../support/grammar-vocabulary.ts';
import { RandomTextEngine } from '../../support/random-text-engine.ts';

const ends: (() => void)[] = [];
afterEach(() => ends.splice(0).forEach((end) => end()));

function openThreads(): GrammarThreads {
  const onEnd = () => {};
  const threads = new GrammarThreads({ vocabulary: VOCABULARY, timeoutMs: 10_000, onEnd });
  ends.push(() => threads.terminateAll('the test is over'));
  return threads;
}

describe('the threads of the engine', () => {
  it('keep owners apart, and give none of them all', () => {
    const threads = openThreads();
    const hostile = Array.from({ length: 10 }, (_, index) =>
      threads.enter({}, `grammar ${index}`, 'b slow'),
    );
    expect(new Set(hostile).size).toBe(LIMITS.grammarMatchThreads - 1);
    const victim = threads.enter({}, 'grammar 1', 'a');
    expect(hostile).not.toContain(victim);
  });

  it('are shared where there are more owners', () => {
    const threads = openThreads();
    const given = Array.from({ length: 10 }, (_, index) => threads.enter({}, 'same', `${index}`));
    expect(new Set(given).size).toBe(LIMITS.grammarMatchThreads);
  });

  it('are given again to who knows the grammar there', () => {
    const threads = openThreads();
    const [first, second] = [{}, {}];
    const [one, two] = [threads.enter(first, 'one', 'a'), threads.enter(second, 'two', 'a')];
    threads.leave(first, one);
    threads.leave(second, two);
    expect(threads.enter({}, 'two', 'a')).toBe(two);
    expect(threads.enter({}, 'one', 'b')).toBe(one);
  });
});

/** Takes minutes to compile. */
const ENDLESS = `root ::= ${'("a" | "b"){1,300} '.repeat(200)}`;

/** Each letter may belong to any of them, and each mask takes longer than the one before. */
const WAYS = Array.from({ length: 300 }, (_, index) => `([a-z]+ "${index}"?)`);
const AMBIGUOUS = `root ::= (${WAYS.join(' | ')})*`;

function request(id: number, ebnf: string, owner: string) {
  return engineRequest({
    id,
    grammar: { ebnf, field: 'test', owner },
    maxTokens: 100,
    stopTokenIds: [EOS],
    sampling: { temperature: 1, seed: BigInt(id) },
  });
}

describe('constrained sequences', () => {
  it('go on while the grammars of another owner are compiled', async () => {
    const engine = new RandomTextEngine({ timeoutMs: 3_600_000 });
    ends.push(() => engine.grammars.release());
    const digits = 'root ::= [0-9]{50}';
    await engine.add(request(1, digits, 'a'));
    const attack = (ids: readonly number[]) =>
      ids.map((id) => engine.add(request(id, `${ENDLESS} "${id}"`, 'b slow')).catch(() => {}));
    const first = attack([2, 3, 4, 5, 6]);
    await engine.runToEnd();
    expect(textOf(engine.tokensOf(1))).toMatch(/^\d{50}$/);
    // A new one of the same owner finds a thread free, too.
    const second = attack([7, 8, 9, 10]);
    await engine.add(request(11, digits, 'a'));
    await engine.runToEnd();
    expect(textOf(engine.tokensOf(11))).toMatch(/^\d{50}$/);
    engine.grammars.release();
    await Promise.all([...first, ...second]);
  });

  it('fail with the reason when a mask takes too long', async () => {
    const engine = new RandomTextEngine({ maskMs: 5 });
    ends.push(() => engine.grammars.release());
    await engine.add({ ...request(1, AMBIGUOUS, 'b'), maxTokens: 1500 });
    await engine.runToEnd();
    expect(engine.outputs.get(1)?.at(-1)).toMatchObject({
      finishReason: 'error',
      error: 'its grammar takes too long to match',
    });
  });

  it('leave their thread to others when they end in the middle of a slow mask', async () => {
    const engine = new RandomTextEngine({ maskMs: 300, timeoutMs: 3000 });
    ends.push(() => engine.grammars.release());
    const letter = VOCABULARY.tokens.indexOf('a');
    const outputTokenIds = new Int32Array(400).fill(letter);
    await engine.add({ ...request(1, AMBIGUOUS, 'b'), maxTokens: 1500, outputTokenIds });
    await engine.step();
    engine.engine.abort(1);
    const digits = { ebnf: 'root ::= [0-9]{50}', field: 'test', owner: 'b' };
    await expect(engine.grammars.compile(digits)).resolves.toBeUndefined();
  });
});
