/** The way of an answer, whatever its API and wherever it goes: model, generation, sink, another server. */
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../front/caller.ts';
import { ShuttingDownError } from '../../front/queue/admission.ts';
import type { ServerContext } from '../context.ts';
import { requireServing } from '../generation/start-generation.ts';
import type { Sendable } from '../http/written-json.ts';
import type { JsonObject } from '../json-object.ts';
import { type AcquiredModel, acquireModel } from '../model-access.ts';
import type { MovableAnswer } from '../resume/movable-answer.ts';
import type { Prepare } from './prepared-answer.ts';
import { eventsWhenLoaded, isLoading } from './while-loading.ts';

/** Ids of events, the token to go on with them, and what another server sends after the last. */
export type MovingEvents = Pick<MovableAnswer, 'token' | 'takeEventId' | 'rest'>;

/** The place that an answer is written to. `Out` is what its transport wants in the end. */
export interface AnswerSink<Out> {
  /** Milliseconds after which a client that waits for a stream must see that it began; null for never. */
  readonly silenceMs: number | null;
  /**
   * An answer that grows.
   * @param events those that come at once together
   * @param moving null for an answer that stays
   */
  stream(events: AsyncIterable<readonly Sendable[]>, moving: MovingEvents | null): Promise<Out>;
  /** An answer in one piece. @param answer text where another server wrote it */
  whole(answer: JsonObject | string): Promise<Out>;
  /** All of what another server answers. */
  relay(answer: IncomingMessage): Promise<Out>;
}

/** A request that was read, on its way to an answer. */
export interface AskedAnswer {
  readonly json: unknown;
  readonly caller: Caller;
  /** Null where its answer can't move. */
  readonly movable: MovableAnswer | null;
  /** Whether it asks for a stream, as far as that is known before it is prepared. */
  readonly streams: boolean;
  readonly prepare: Prepare;
  /** The model, once it is loaded; the one that the body names, if left out. */
  readonly acquire?: (caller: Caller) => Promise<AcquiredModel>;
}

/**
 * Runs a request to the end of its answer. While the server leaves, another one answers if it can.
 * @throws whatever acquiring a model, preparing and generating throw, before the sink has begun
 */
export async function runAnswer<Out>(
  context: ServerContext,
  asked: AskedAnswer,
  sink: AnswerSink<Out>,
): Promise<Out> {
  const { movable, caller } = asked;
  try {
    requireServing(context, caller.client);
    return await answerHere(context, asked, sink);
  } catch (error) {
    const elsewhere = error instanceof ShuttingDownError ? await movable?.forward() : null;
    if (!elsewhere) throw error;
    return sink.relay(elsewhere);
  }
}

async function answerHere<Out>(
  context: ServerContext,
  { movable, streams, prepare, acquire, ...asked }: AskedAnswer,
  sink: AnswerSink<Out>,
): Promise<Out> {
  const { json, caller } = movable ?? asked;
  const acquiring = acquire?.(caller) ?? acquireModel(context, json, caller);
  const { silenceMs } = sink;
  try {
    if (streams && silenceMs !== null && (await isLoading(acquiring, silenceMs))) {
      // The client and proxies between hear that all is well; what fails from here on is an event.
      const events = eventsWhenLoaded(acquiring, async (model) =>
        (await prepare(model, json, caller, context)).chunks(caller),
      );
      // Without a token, which its client has if it was begun elsewhere.
      return await sink.stream(events, movable?.isResumed ? movable : null);
    }
    const { model } = await acquiring;
    const prepared = await prepare(model, json, caller, context);
    if (!prepared.stream) {
      const run = () => prepared.whole(caller);
      return await sink.whole(await (movable ? movable.whole(run) : run()));
    }
    const events = await prepared.chunks(caller);
    // An answer whose client was told nothing to have it taken up with stays.
    const isMoving = movable !== null && movable.token !== null;
    return await sink.stream(isMoving ? movable.stream(events) : events, isMoving ? movable : null);
  } finally {
    // Whatever failed, be it the wait for it.
    await acquiring.then(
      ({ release }) => release(),
      () => {},
    );
  }
}

/** Whether a body wants its answer as a stream. */
export function wantsStream(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'stream' in json && json.stream === true;
}
