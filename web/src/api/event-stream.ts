/** Server-sent events of an answer. */
import { createParser } from 'eventsource-parser';
import { ServerError } from './request.ts';

/** For the end of the connection, once the last event is there. */
const END_MS = 2000;

/**
 * The JSON of each event, up to `[DONE]`.
 * @throws ServerError when the server ends the stream with an error
 */
export async function* readEvents<T>(response: Response): AsyncGenerator<T> {
  if (response.body === null) return;
  const arrived: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => arrived.push(data) });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isDone = done;
      if (done) return;
      parser.feed(value);
      for (const data of arrived.splice(0)) {
        if (data === '[DONE]') {
          isDone = true;
          void readEnd(reader);
          return;
        }
        yield parseEvent(data) as T;
      }
    }
  } finally {
    // Whoever stops reading stops the answer.
    if (!isDone) await reader.cancel().catch(() => {});
  }
}

/** A connection that is read to its end is used again, and is not one that the page has cut. */
async function readEnd(reader: ReadableStreamDefaultReader<string>): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), END_MS);
  await reader.read().catch(() => {});
  clearTimeout(timer);
}

function parseEvent(data: string): unknown {
  const event = JSON.parse(data) as { error?: { message: string; code?: string } };
  if (event.error) throw new ServerError(event.error.message, 500, event.error.code ?? null);
  return event;
}
