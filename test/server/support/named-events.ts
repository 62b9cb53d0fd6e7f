/** Reads server-sent events that have names. */
import { createParser } from 'eventsource-parser';
import { expect } from 'vitest';
import { z } from 'zod';

const event = z.looseObject({ type: z.string() });

export type NamedEvent = z.infer<typeof event>;

/** The events of a finished stream, each of which must carry its name also in its data. */
export async function namedEventsOf(response: Response): Promise<NamedEvent[]> {
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const events: NamedEvent[] = [];
  const parser = createParser({
    onEvent: ({ event: name, data }) => {
      const parsed = event.parse(JSON.parse(data));
      expect(parsed.type).toBe(name);
      events.push(parsed);
    },
  });
  parser.feed(await response.text());
  return events;
}
