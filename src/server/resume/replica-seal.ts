/** Messages to replicas' common route, sealed by the key that all have. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { unauthorized } from '../errors.ts';
import type { ResumeKey } from './resume-key.ts';

/** Route for replicas: a sealed header opens it. */
export const HANDOVER_PATH = '/internal/v1/resume';
/** Its value says who sends the request, or the answer: a replica. */
export const REPLICA_HEADER = 'x-chairlift-handover';

/** Uses of the seals. */
const HANDOVER = 'handover';
const QUESTION = 'question';
const ANSWER = 'answer';

const sealedHandover = z.object({
  /** Path of the request's API. */
  path: z.string(),
  client: z.string(),
  /** Unix time in milliseconds. */
  expires: z.number(),
});

const sealedQuestion = z.object({ nonce: z.string(), expires: z.number() });

/** Client whose request is handed over, and its API. */
export type Sender = Omit<z.infer<typeof sealedHandover>, 'expires'>;

export function sealSender(key: ResumeKey, { path, client }: Sender): string {
  return key.seal(HANDOVER, JSON.stringify({ path, client, expires: soon() }));
}

/**
 * Opens the header of a request that a replica hands over.
 * @throws ApiError 401
 */
export function openSender(key: ResumeKey | null, headers: IncomingHttpHeaders): Sender {
  const { path, client } = opened(key, HANDOVER, sealedHandover, headers) ?? refuse();
  return { path, client };
}

/**
 * Question to somebody who may be a replica: only a replica can answer, and each question has its own
 * answer.
 */
export class ReplicaQuestion {
  readonly sealed: string;
  readonly #key: ResumeKey;
  readonly #nonce = randomUUID();

  constructor(key: ResumeKey) {
    this.#key = key;
    this.sealed = key.seal(QUESTION, JSON.stringify({ nonce: this.#nonce, expires: soon() }));
  }

  isAnsweredBy({ [REPLICA_HEADER]: answer }: IncomingHttpHeaders): boolean {
    return typeof answer === 'string' && this.#key.open(ANSWER, answer) === this.#nonce;
  }
}

/** The answer to a replica's question; null for a request that is none. */
export function answerQuestion(key: ResumeKey | null, headers: IncomingHttpHeaders): string | null {
  const question = opened(key, QUESTION, sealedQuestion, headers);
  return question && key && key.seal(ANSWER, question.nonce);
}

function opened<T extends { readonly expires: number }>(
  key: ResumeKey | null,
  use: string,
  schema: z.ZodType<T>,
  { [REPLICA_HEADER]: sealed }: IncomingHttpHeaders,
): T | null {
  const text = typeof sealed === 'string' ? (key?.open(use, sealed) ?? null) : null;
  const result = schema.safeParse(text === null ? null : JSON.parse(text));
  return result.success && result.data.expires >= Date.now() ? result.data : null;
}

function refuse(): never {
  throw unauthorized('This is for replicas that have the same --resume-key.');
}

/** Clocks of replicas may differ by about as much. */
function soon(): number {
  return Date.now() + LIMITS.handoverMs;
}
