import { createParser } from 'eventsource-parser';

/** Reads server-sent events to their end, and passes on the data of each. */
export async function readEventData(
  pieces: AsyncIterable<Uint8Array>,
  onData: (data: string) => void,
): Promise<void> {
  const parser = createParser({ onEvent: ({ data }) => onData(data) });
  // Keeps the bytes of a character that was cut in two.
  const decoder = new TextDecoder();
  for await (const bytes of pieces) parser.feed(decoder.decode(bytes, { stream: true }));
}
