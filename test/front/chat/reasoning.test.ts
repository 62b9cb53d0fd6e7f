import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  knowsThinking,
  opensThinking,
  ReasoningSplitter,
} from '../../../src/front/chat/reasoning.ts';

function split(pieces: readonly string[], isOpen = false) {
  const splitter = new ReasoningSplitter(isOpen);
  const out = { reasoning: '', content: '' };
  for (const { type, text } of [
    ...pieces.flatMap((piece) => splitter.push(piece)),
    ...splitter.flush(),
  ]) {
    out[type] += text;
  }
  return out;
}

describe('reasoning', () => {
  it.each([
    ['<think>\nHm.\n\nYes.\n</think>\n\nHello.', 'Hm.\n\nYes.', 'Hello.'],
    ['Hello.', '', 'Hello.'],
    ['  Hello </think>', '', '  Hello </think>'],
    ['<think></think>Hello', '', 'Hello'],
    ['<think>Hm. < b', 'Hm. < b', ''],
    ['<think>Hm.</thin', 'Hm.</thin', ''],
    ['<thin', '', '<thin'],
    ['I <think>so</think>', '', 'I <think>so</think>'],
  ])('is split from what is said: %j', (text, reasoning, content) => {
    expect(split([text])).toEqual({ reasoning, content });
  });

  it('may be opened by the prompt', () => {
    expect(split(['Hm.</think>Hello'], true)).toEqual({ reasoning: 'Hm.', content: 'Hello' });
    expect(opensThinking('<|im_start|>assistant\n<think>\n')).toBe(true);
    expect(opensThinking('<|im_start|>assistant\n<think>\n\n</think>\n\n')).toBe(false);
    expect(knowsThinking("{{ '</think>' }}")).toBe(true);
    expect(knowsThinking('{{ messages }}')).toBe(false);
  });

  it('comes out before it is complete', () => {
    const splitter = new ReasoningSplitter(false);
    expect(splitter.push('<think>One ')).toEqual([{ type: 'reasoning', text: 'One' }]);
    expect(splitter.push('two <')).toEqual([{ type: 'reasoning', text: ' two' }]);
    expect(splitter.push('/think>\nSo')).toEqual([{ type: 'content', text: 'So' }]);
  });

  it('comes out the same however the text is cut', () => {
    const parts = fc.constantFrom('<think>', '</think>', '<', 'think', '>', ' ', '\n', 'a', '</');
    fc.assert(
      fc.property(
        fc.array(parts, { maxLength: 10 }).map((all) => all.join('')),
        fc.boolean(),
        (text, isOpen) => {
          expect(split(Array.from(text), isOpen)).toEqual(split([text], isOpen));
        },
      ),
      { numRuns: 1000 },
    );
  });
});
