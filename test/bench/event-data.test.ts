import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEventData } from '../../src/bench/event-data.ts';

async function parse(pieces: readonly Uint8Array[]): Promise<string[]> {
  const events: string[] = [];
  async function* arriving() {
    yield* pieces;
  }
  await readEventData(arriving(), (data) => events.push(data));
  return events;
}

describe('readEventData', () => {
  it('reads data, and nothing else', async () => {
    const stream =
      ': a comment\n\nevent: x\ndata: {"a":1}\nid: 7\n\ndata:two\ndata: lines\r\n\r\ndata: [DONE]\n\n';
    expect(await parse([Buffer.from(stream)])).toEqual(['{"a":1}', 'two\nlines', '[DONE]']);
  });

  it('drops an event that the stream does not end', async () => {
    expect(await parse([Buffer.from('data: a\n\ndata: b\n')])).toEqual(['a']);
  });

  it('gives the same events however the bytes are cut', async () => {
    const events = ['{"text":"häßlich 🚡"}', 'x', '[DONE]'];
    const bytes = Buffer.from(events.map((event) => `data: ${event}\r\n\r\n`).join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: bytes.length })), async (cuts) => {
        const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const pieces = edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
        expect(await parse(pieces)).toEqual(events);
      }),
    );
  });
});
