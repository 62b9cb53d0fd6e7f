import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SseParser } from '../../src/bench/sse-parser.ts';

function parse(pieces: readonly Uint8Array[]): string[] {
  const parser = new SseParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

describe('SseParser', () => {
  it('reads data, and nothing else', () => {
    const stream =
      ': a comment\n\nevent: x\ndata: {"a":1}\nid: 7\n\ndata:two\ndata: lines\r\n\r\ndata: [DONE]\n\n';
    expect(parse([Buffer.from(stream)])).toEqual(['{"a":1}', 'two\nlines', '[DONE]']);
  });

  it('keeps an event that is not over to itself', () => {
    expect(parse([Buffer.from('data: a\n\ndata: b\n')])).toEqual(['a']);
  });

  it('gives the same events however the bytes are cut', () => {
    const events = ['{"text":"häßlich 🚡"}', 'x', '[DONE]'];
    const bytes = Buffer.from(events.map((event) => `data: ${event}\r\n\r\n`).join(''));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: bytes.length })), (cuts) => {
        const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const pieces = edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
        expect(parse(pieces)).toEqual(events);
      }),
    );
  });
});
