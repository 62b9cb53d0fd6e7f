import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssistantMessage } from '../../../src/front/chat/assistant-message.ts';
import type { ChatDelta } from '../../../src/front/chat/chat-delta.ts';
import { ChatDeltas } from '../../../src/front/chat/chat-deltas.ts';
import type { OutputFormat } from '../../../src/front/chat/output-format.ts';
import { HERMES, THINK } from '../../support/chat-formats.ts';

const call = '{"name": "look", "arguments": {"at": 1}}';
const tagged = `<tool_call>${call}</tool_call>`;
const format: OutputFormat = {
  grammar: null,
  reasoning: { format: THINK, place: 'before', promptEnd: '' },
  toolCalls: {
    format: HERMES,
    known: new Map([['look', undefined]]),
    withheld: new Set(),
  },
};

/** The deltas of a text that comes in `pieces`, with one token for each character. */
function deltasOf(pieces: readonly string[], reason: 'stop' | 'length' = 'stop', of = format) {
  const deltas = new ChatDeltas(of, 'a');
  let offset = 0;
  return pieces.map((text, index) => {
    const textOffsets = Array.from({ length: text.length }, (_, at) => offset + at);
    offset += text.length;
    return deltas.push({
      text,
      textOffsets,
      tokenIds: textOffsets,
      finishReason: index === pieces.length - 1 ? reason : null,
      stopReason: null,
    });
  });
}

/** Sum of all deltas. */
function whole(deltas: readonly ChatDelta[]) {
  const message = new AssistantMessage();
  for (const delta of deltas) message.add(delta);
  const { content, reasoning, toolCalls } = message;
  return {
    content,
    reasoning,
    toolCalls: toolCalls.map(({ name, arguments: json }) => ({ name, json })),
    finishReason: deltas.at(-1)?.finishReason,
    numReasoningTokens: deltas.reduce((sum, delta) => sum + (delta.numReasoningTokens ?? 0), 0),
  };
}

describe('the deltas of a chat', () => {
  it('tell thought, content and tool calls apart', () => {
    expect(whole(deltasOf([`<think>Hm.</think>So: ${tagged}`]))).toEqual({
      content: 'So:',
      reasoning: 'Hm.',
      toolCalls: [{ name: 'look', json: '{"at": 1}' }],
      finishReason: 'tool_calls',
      numReasoningTokens: 3,
    });
  });

  it('end for the length though there is a whole call', () => {
    expect(whole(deltasOf([tagged], 'length')).finishReason).toBe('length');
  });

  it.each([
    ['length', 'cut', { content: '', toolCalls: [{ name: 'look', json: '{"at"' }] }],
    [
      'stop',
      'broken',
      { content: '<tool_call>{"name": "look", "arguments": {"at"', toolCalls: [] },
    ],
  ] as const)('of a call that ends early for the %s', (reason, type, expected) => {
    const text = '<tool_call>{"name": "look", "arguments": {"at"';
    const deltas = deltasOf([text.slice(0, -2), text.slice(-2)], reason);
    expect(deltas[0]?.parts).toMatchObject([{ type: 'call', name: 'look' }, { type: 'arguments' }]);
    expect(deltas.at(-1)?.parts.at(-1)).toEqual({ type, text });
    expect(whole(deltas)).toMatchObject({ ...expected, finishReason: reason });
  });

  it('keep the choices of a request apart', () => {
    const deltas = new ChatDeltas(format, 'a');
    const push = (choice: number, text: string) =>
      deltas.push({ choice, text, tokenIds: [1], finishReason: null, stopReason: null });
    expect(push(0, '<think>One')).toMatchObject({ isFirst: true, parts: [{ type: 'reasoning' }] });
    expect(push(1, 'Two')).toMatchObject({ isFirst: true, parts: [{ type: 'content' }] });
    expect(push(0, ' more')).toMatchObject({ isFirst: false, parts: [{ type: 'reasoning' }] });
  });

  it('are content alone for a model with neither thoughts nor tools', () => {
    const plain = { grammar: null, reasoning: null, toolCalls: null };
    const text = `<think>${tagged}`;
    const [delta] = deltasOf([text], 'stop', plain);
    expect(delta?.parts).toEqual([{ type: 'content', text }]);
    expect(delta).toMatchObject({ finishReason: 'stop', numReasoningTokens: null });
  });

  it('come to the same however the text is cut', () => {
    const word = fc.constantFrom('<think>', '</think>', tagged, call, '<tool_call>', ' ', 'a', '{');
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join('')),
        fc.constantFrom('stop' as const, 'length' as const),
        (text, reason) => {
          expect(whole(deltasOf(Array.from(text), reason))).toEqual(
            whole(deltasOf([text], reason)),
          );
        },
      ),
      { numRuns: 500 },
    );
  });
});
