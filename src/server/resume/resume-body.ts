/** How a request says that it goes on with an answer that was cut off. */
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import { boundedList } from '../schemas/bounded-list.ts';
import { parseWith } from '../schemas/parse.ts';
import { parseEventId } from './event-id.ts';

/** They go into an Int32Array: what does not fit would become another token. */
const isTokenId = (id: unknown): boolean =>
  Number.isInteger(id) && (id as number) >= 0 && (id as number) < 2 ** 31;

const tokenIds = z.custom<readonly number[]>(
  (value) => Array.isArray(value) && value.every(isTokenId),
  { error: 'expected a list of token ids' },
);

const resumeBody = z.looseObject({
  /** Token that came with the answer's beginning. */
  token: z.string().max(LIMITS.resumeTokenCharacters),
  /** Tokens of each choice whose text has arrived; empty where nothing has. */
  counts: boundedList(z.int().min(0), LIMITS.choices),
  /** Numbered events that have arrived. */
  events: z.int().min(0).optional(),
  /** These tokens, by choice. What is left out is generated again. */
  tokens: boundedList(tokenIds, LIMITS.choices).optional(),
});

export type ResumeBody = z.infer<typeof resumeBody>;

export interface SplitBody {
  /** The request as it was. */
  readonly json: unknown;
  readonly resume: ResumeBody | null;
}

/**
 * Takes `resume` out of a body; or what the headers of a client say that knows no more than the last
 * event's id (`Last-Event-ID`, and the token in `X-Resume-Token`).
 * @throws ApiError 400
 */
export function splitBody(json: unknown, headers: IncomingHttpHeaders): SplitBody {
  if (typeof json === 'object' && json !== null && 'resume' in json) {
    const { resume, ...rest } = json;
    return { json: rest, resume: parseWith(resumeBody, resume, ['resume']) };
  }
  const { 'last-event-id': lastEventId, 'x-resume-token': token } = headers;
  if (typeof lastEventId !== 'string' || typeof token !== 'string') return { json, resume: null };
  const told = parseEventId(lastEventId);
  if (told === null) {
    throw badRequest(
      '`Last-Event-ID` is not the id of an event of this API.',
      null,
      'invalid_value',
    );
  }
  return { json, resume: { token, counts: [...told.counts], events: told.numEvents } };
}
