/** Grammars whose alternatives begin or end alike: of these xgrammar takes texts that they do not have. */
import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { withDistinctEnds } from '../../src/grammar/distinct-ends.ts';
import { orLong } from '../support/long-runs.ts';
import { engineRequest } from '../support/engine-requests.ts';
import { EOS, textOf } from '../support/grammar-vocabulary.ts';
import { RandomTextEngine } from '../support/random-text-engine.ts';

const engine = new RandomTextEngine();
afterAll(() => engine.grammars.release());
let numRequests = 0;

/** Texts that a model writes which finds every token equally likely. */
async function drawn(ebnf: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => ++numRequests);
  const options = { grammar: { ebnf, field: 'test' }, maxTokens: 100, stopTokenIds: [EOS] };
  for (const id of ids) {
    const sampling = { temperature: 1, seed: BigInt(id) };
    await engine.add(engineRequest({ id, ...options, sampling }));
  }
  await engine.runToEnd();
  return ids.map((id) => textOf(engine.tokensOf(id)));
}

test.each([
  ['three words', 'root ::= "xyd" | "abc" | "abd"\n', /^(xyd|abc|abd)$/],
  [
    'strings of JSON',
    'root ::= "{" ("\\"xyd\\"" | "\\"abc\\"" | "\\"abd\\"") "}"\n',
    /^\{"(xyd|abc|abd)"\}$/,
  ],
  [
    'groups first',
    'root ::= ("at" "z" | ("b" | "at") "{" [a-f] "z") "."\n',
    /^(atz|(b|at)\{[a-f]z)\.$/,
  ],
  [
    'rules first',
    'r ::= "b" | "at"\nroot ::= ("atz" | r "{" [a-f] "z") "."\n',
    /^(atz|(b|at)\{[a-f]z)\.$/,
  ],
  ['groups in a choice', 'root ::= ("abc" | "abd") | ("xyc" | "xq")\n', /^(abc|abd|xyc|xq)$/],
])('%s', async (_, ebnf, right) => {
  for (const text of await drawn(ebnf, 24)) expect(text).toMatch(right);
});

const words = fc.uniqueArray(
  fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), minLength: 1, maxLength: 6 }),
  {
    minLength: 3,
    maxLength: 12,
  },
);

test('words of any kind and in any order', async () => {
  await fc.assert(
    fc.asyncProperty(words, async (all) => {
      const ebnf = `root ::= "<" (${all.map((word) => `"${word}"`).join(' | ')}) ">"\n`;
      const texts = await drawn(ebnf, 16);
      expect(all.map((word) => `<${word}>`)).toEqual(expect.arrayContaining(texts));
    }),
    { numRuns: orLong(25, 300) },
  );
}, 120_000);

/** The same in EBNF and as a regular expression. */
interface Written {
  readonly ebnf: string;
  readonly regex: string;
}

const PARTS: readonly Written[] = [
  ...['a', 'b', 'ab', 'abc', 'bc'].map((word) => ({ ebnf: `"${word}"`, regex: word })),
  ...['[ab]', '[bc]'].map((each) => ({ ebnf: each, regex: each })),
  { ebnf: '("c"){1,2}', regex: 'c{1,2}' },
  { ebnf: '"b"?', regex: 'b?' },
];

function joined(all: readonly Written[], between: string): Written {
  return {
    ebnf: all.map(({ ebnf }) => ebnf).join(` ${between} `),
    regex: all.map(({ regex }) => regex).join(between),
  };
}

/** Groups of sequences of words, classes and groups. */
const { group } = fc.letrec<{ group: Written; sequence: Written; part: Written }>((tie) => ({
  group: fc.array(tie('sequence'), { minLength: 1, maxLength: 4 }).map((all) => {
    const { ebnf, regex } = joined(all, '|');
    return { ebnf: `(${ebnf})`, regex: `(${regex})` };
  }),
  sequence: fc.array(tie('part'), { minLength: 1, maxLength: 3 }).map((all) => joined(all, '')),
  part: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...PARTS),
    tie('group'),
  ),
}));

test('groups within groups', async () => {
  await fc.assert(
    fc.asyncProperty(group, async ({ ebnf, regex }) => {
      const right = new RegExp(`^${regex}$`);
      for (const text of await drawn(`root ::= ${ebnf}\n`, 16)) expect(text).toMatch(right);
    }),
    { numRuns: orLong(25, 300) },
  );
}, 120_000);

test('what cannot begin alike, or be read, is left as it is', () => {
  for (const ebnf of [
    'root ::= "ab" | "cd" | [e-g] x\nx ::= "y"\n',
    'root ::= (',
    'root',
    '"a" | "a"',
  ]) {
    expect(withDistinctEnds(ebnf)).toBe(ebnf);
  }
  expect(withDistinctEnds('root ::= "a" "" | [a] # e1\n')).toBe(
    'root ::= "a" "" e_1 | [a] e_2 # e1\n\ne_0 ::= ""\ne_1 ::= ""\ne_2 ::= ""\n',
  );
});
