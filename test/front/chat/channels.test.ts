/** Harmony, against what openai-harmony reads (scripts/references/harmony.py). */
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChannelParser, type ChannelEvent } from '../../../src/front/chat/channels.ts';

interface Reference {
  readonly text: string;
  readonly messages: readonly {
    readonly channel: string;
    readonly recipient: string | null;
    readonly text: string;
  }[];
}
const fixture = new URL('../../fixtures/harmony.json', import.meta.url);
const references = JSON.parse(readFileSync(fixture, 'utf8')) as readonly Reference[];

const tools = {
  known: new Map([
    ['get_weather', undefined],
    ['now', undefined],
  ]),
  withheld: new Set(['rm']),
};

interface Options {
  readonly isCut?: boolean;
  readonly prompt?: string;
  readonly withTools?: boolean;
}

/** Puts together what a client that streams does. */
function read(pieces: readonly string[], options: Options = {}) {
  const { isCut = false, prompt = '<|start|>assistant', withTools = true } = options;
  const parser = new ChannelParser(withTools ? tools : null, prompt);
  const out = { reasoning: '', content: '', calls: [] as string[], numWhole: 0, numTokens: 0 };
  const take = (events: readonly ChannelEvent[]) => {
    for (const event of events) {
      if (event.type === 'reasoning' || event.type === 'content') out[event.type] += event.text;
      else if (event.type === 'call') out.calls.push(`${event.name} `);
      else if (event.type === 'broken') out.content += event.rest;
      else if (event.type === 'arguments') out.calls[event.index] += event.text;
    }
  };
  let offset = 0;
  for (const piece of pieces) {
    take(parser.push(piece));
    const offsets = Array.from({ length: piece.length }, (_, index) => offset + index);
    out.numTokens += parser.countTokens(offsets);
    offset += piece.length;
  }
  take(parser.flush(isCut));
  out.numTokens += parser.countTokens([]);
  out.numWhole = parser.numWhole;
  return out;
}

describe('answers in channels', () => {
  it.each(references)('are read as openai-harmony reads them: $text', ({ text, messages }) => {
    const isCall = ({ recipient }: Reference['messages'][number]) =>
      recipient?.startsWith('functions.');
    const thoughts = messages.filter((each) => !isCall(each) && each.channel === 'analysis');
    const content = messages.filter((each) => !isCall(each) && each.channel !== 'analysis');
    const calls = messages
      .filter(isCall)
      .map(({ recipient, text: json }) => `${recipient?.slice(10)} ${json}`);
    const result = read([text]);
    expect(result).toMatchObject({
      reasoning: thoughts.map((each) => each.text).join('\n'),
      content: content.map((each) => each.text).join('\n'),
      calls,
      numWhole: calls.length,
      // One for each character here.
      numTokens: thoughts.reduce((sum, each) => sum + each.text.length, 0),
    });
    for (let at = 1; at < text.length; at++) {
      expect(read([text.slice(0, at), text.slice(at)])).toEqual(result);
    }
    // The marker that ends the model's text does not come.
    expect(read([text.replace(/<\|(call|return)\|>$/, '')])).toEqual(result);
  });

  it.each([
    ['Hello without a channel.', 'Hello without a channel.'],
    ['<|channel|>final', '<|channel|>final'],
    [`<|channel|>${'x'.repeat(600)}`, `<|channel|>${'x'.repeat(600)}`],
    ['<|channel|>other<|message|>Hello.', 'Hello.'],
    ['<|channel|>final<|message|>Hello.<|end|>And more.', 'Hello.\nAnd more.'],
    ['<|channel|>final<|message|>a<|message|>b<|constrain|>c', 'a<|message|>b<|constrain|>c'],
    [
      '<|channel|>commentary to=functions.rm<|message|>{}<|call|>',
      '<|channel|>commentary to=functions.rm<|message|>{}',
    ],
    ['<|channel|>commentary to=functions.now<|message|>no JSON<|call|>', 'no JSON'],
  ])('lose nothing of what is malformed: %s', (text, content) => {
    expect(read([text])).toMatchObject({ content, numWhole: 0, reasoning: '' });
    expect(read(text.split(''))).toEqual(read([text]));
  });

  it('are content where there are no tools', () => {
    const text = '<|channel|>commentary to=functions.now<|message|>{}<|call|>';
    expect(read([text], { withTools: false }).content).toBe(
      '<|channel|>commentary to=functions.now<|message|>{}',
    );
  });

  it('may go on with a message that the prompt has begun', () => {
    const prompt = '<|start|>assistant<|channel|>analysis<|message|>';
    const text = 'Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes';
    expect(read([text], { prompt })).toMatchObject({ reasoning: 'Hm.', content: 'Yes' });
  });

  it('come out the same however they are cut', () => {
    const bits = [
      '<|start|>assistant',
      '<|channel|>',
      'analysis',
      'final',
      'commentary',
      ' to=functions.now',
    ];
    const more = [
      '<|message|>',
      '<|end|>',
      '<|call|>',
      '<|',
      '{"a": 1}',
      '{',
      '}',
      'é😀',
      ' ',
      '\n',
    ];
    const texts = fc.array(fc.constantFrom(...bits, ...more), { maxLength: 12 });
    fc.assert(
      fc.property(texts, fc.nat(), fc.boolean(), (parts, cut, isCut) => {
        const text = parts.join('');
        const whole = read([text], { isCut });
        const at = cut % (text.length + 1);
        expect(read([text.slice(0, at), text.slice(at)], { isCut })).toEqual(whole);
        expect(read(text.split(''), { isCut })).toEqual(whole);
      }),
      { numRuns: 500 },
    );
  });
});
