/** Server-sent events of an answer. */
import { createParser } from 'eventsource-parser';
import { ServerError } from './request.ts';

/**
 * The JSON of each event, up to `[DONE]`.
 * @throws ServerError when the server ends the stream with an error
 */
export async function* readEvents<T>(response: Response): AsyncGenerator<T> {
  if (response.body === null) return;
  const arrived: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => arrived.push(data) });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(value);
      for (const data of arrived.splice(0)) {
        if (data === '[DONE]') return;
        yield parseEvent(data) as T;
      }
    }
  } finally {
    // Whoever stops reading stops the answer.
    await reader.cancel().catch(() => {});
  }
}

function parseEvent(data: string): unknown {
  const event = JSON.parse(data) as { error?: { message: string; code?: string } };
  if (event.error) throw new ServerError(event.error.message, 500, event.error.code ?? null);
  return event;
}
