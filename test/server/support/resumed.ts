/** Streams that are cut off and gone on with, as a client of the protocol sees them. */
import { expect } from 'vitest';

export interface SentEvent {
  readonly id: string | undefined;
  readonly data: string;
}

export interface Stream {
  readonly token: string;
  readonly events: readonly SentEvent[];
}

export async function streamOf(response: Response): Promise<Stream> {
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  const events = text.split('\n\n').flatMap((block) => {
    const data = /^data: (.*)$/m.exec(block)?.[1];
    return data === undefined ? [] : [{ id: /^id: (.*)$/m.exec(block)?.[1], data }];
  });
  return { token: response.headers.get('x-resume-token') ?? '', events };
}

/** Knowledge of a client cut off after some events: the last id, and the tokens of all ids. */
export function knownAfter({ token, events }: Stream, numEvents: number) {
  const ids = events.slice(0, numEvents).flatMap(({ id }) => (id === undefined ? [] : [id]));
  const tokens: number[][] = [];
  for (const id of ids) {
    for (const part of id.split(';').slice(1)) {
      const [choice = '', list] = part.split(':');
      if (list === undefined) continue;
      const known = (tokens[Number(choice)] ??= []);
      known.push(...list.split('.').map((tokenId) => Number.parseInt(tokenId, 36)));
    }
  }
  const [counts = '', numbered = ''] = (ids.at(-1) ?? '').split(';');
  const resume = {
    token,
    counts: counts === '' ? [] : counts.split(',').map(Number),
    tokens,
    events: numbered.startsWith('e') ? Number(numbered.slice(1)) : 0,
  };
  return { lastId: ids.at(-1), resume };
}

/** After how many events a client may be cut off: what has no id yet comes again. */
export function cutsOf({ events }: Stream): number[] {
  return events.flatMap(({ id }, index) => (id === undefined ? [] : [index + 1]));
}
