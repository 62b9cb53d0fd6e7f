import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { byteLevel } from '../../../src/front/grammars/grammar-vocabulary.ts';
import { TokenSearch } from '../../../src/front/grammars/token-search.ts';

it('finds each token that contains a text, once', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', ' ', 'é'), maxLength: 5 });
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 30 }), text, (texts, sought) => {
      fc.pre(sought !== '');
      const search = new TokenSearch(texts.map((each) => byteLevel(each)));
      const expected = [...texts.keys()].filter((id) => texts[id]?.includes(sought));
      expect([...search.tokensWith(sought)]).toEqual(expected);
      // From the index that the first search made.
      expect([...search.tokensWith(sought)]).toEqual(expected);
    }),
    { numRuns: 2000 },
  );
});
