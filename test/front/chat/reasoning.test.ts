import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReasoningSplitter } from '../../../src/front/chat/reasoning.ts';
import {
  detectReasoningFormat,
  placeAfter,
  REASONING_FORMATS,
  type ThoughtPlace,
} from '../../../src/front/chat/reasoning-formats.ts';
import { reasoningFormat, THINK } from '../../support/chat-formats.ts';

function split(pieces: readonly string[], place: ThoughtPlace = 'before', format = THINK) {
  const splitter = new ReasoningSplitter(format, place);
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
    expect(split(['Hm.</think>Hello'], 'within')).toEqual({ reasoning: 'Hm.', content: 'Hello' });
    expect(placeAfter(THINK, '<|im_start|>assistant\n<think>\n')).toBe('within');
    expect(placeAfter(THINK, '<|im_start|>assistant\n<think>\n\n</think>\n\n')).toBe('after');
    expect(placeAfter(THINK, '<|im_start|>assistant\n')).toBe('before');
  });

  it('comes out before it is complete', () => {
    const splitter = new ReasoningSplitter(THINK, 'before');
    expect(splitter.push('<think>One ')).toEqual([{ type: 'reasoning', text: 'One' }]);
    expect(splitter.push('two <')).toEqual([{ type: 'reasoning', text: ' two' }]);
    expect(splitter.push('/think>\nSo')).toEqual([{ type: 'content', text: 'So' }]);
  });

  it.each([
    ['mistral', '[THINK]Hm.[/THINK]Hello.', 'Hm.', 'Hello.'],
    ['gemma4', '<|channel>thought\nHm.\n<channel|>Hello.', 'Hm.', 'Hello.'],
    ['seed_oss', '<seed:think>Hm.</seed:think>Hello.', 'Hm.', 'Hello.'],
    ['granite', 'Here is my thought process: Hm.\n\nHere is my response: Hello.', 'Hm.', 'Hello.'],
    ['granite', 'Here is my cat.', '', 'Here is my cat.'],
    [
      'hunyuan_a13b',
      '<think>\nHm.\n</think>\n<answer>\nHello. < b\n</answer>',
      'Hm.',
      'Hello. < b',
    ],
    ['ernie45', '<think>\nHm.\n</think>\n\n<response>\nHello.\n</response>\n', 'Hm.', 'Hello.\n'],
    [
      'cohere_command3',
      '<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>',
      'Hm.',
      'Hello.',
    ],
    ['cohere_command3', '<|START_RESPONSE|>Hello.<|END_RESPONSE|>', '', 'Hello.'],
    ['hunyuan_a13b', ' Hello </answ', '', ' Hello </answ'],
  ])('has markers of its own with %s', (name, text, reasoning, content) => {
    const format = reasoningFormat(name);
    expect(split([text], 'before', format)).toEqual({ reasoning, content });
    const { open } = format;
    const begun = reasoning === '' ? `${open}x` : text;
    expect(split([begun.slice(open.length)], 'within', format).reasoning).toBe(reasoning || 'x');
    for (let cut = 0; cut <= text.length; cut++) {
      const pieces = [text.slice(0, cut), text.slice(cut)];
      expect(split(pieces, 'before', format)).toEqual({ reasoning, content });
    }
  });

  it('is marked as the template shows', () => {
    expect(detectReasoningFormat('{{ messages }}')).toBeNull();
    // Tags around the answer of a tool.
    expect(detectReasoningFormat("'<think>' '\\n<response>'")).toBe(THINK);
    for (const format of REASONING_FORMATS) {
      expect(detectReasoningFormat(`{{ ${format.shownBy.join(' ')} }}`)).toBe(format);
      expect(format.close.slice(1)).not.toContain(format.close[0]);
    }
  });

  it('comes out the same however the text is cut', () => {
    const formats = REASONING_FORMATS.filter(({ next }) => next === '');
    const bits = ['<', 'think', '>', ' ', '\n', 'a', '</', 'é😀'];
    const texts = fc.constantFrom(...formats).chain((format) => {
      const markers = [format.open, format.close, format.answer.open, format.answer.close];
      const parts = fc.array(fc.constantFrom(...markers, ...bits), { maxLength: 10 });
      return parts.map((all) => ({ format, text: all.join('') }));
    });
    const places = fc.constantFrom('before' as const, 'within' as const, 'after' as const);
    fc.assert(
      fc.property(texts, places, fc.nat(), ({ format, text }, place, cut) => {
        const whole = split([text], place, format);
        const at = cut % (text.length + 1);
        expect(split([text.slice(0, at), text.slice(at)], place, format)).toEqual(whole);
        expect(split(text.split(''), place, format)).toEqual(whole);
      }),
      { numRuns: 1000 },
    );
  });
});
