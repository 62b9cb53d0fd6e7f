/** The stream of /admin/steps: what it takes, and its events, which are also the lines of a recording. */
import { z } from 'zod';
import { CELL_FIELDS, SENT_BACK_FOR, SLOT_WORK } from '../../engine/tap/step-record.ts';
import { ENGINE_STATES } from '../../front/engine-process/engine-contract.ts';
import { LIMITS } from '../../limits.ts';
import { shortText } from './fields.ts';

export const stepsQuery = z.looseObject({
  model: shortText.min(1).optional(),
  every: z.coerce.number().pipe(z.int().min(1).max(LIMITS.stepsEvery)).optional(),
});

const count = z.int().nonnegative();
/** Unix time in milliseconds. */
const at = z.number().nonnegative();
const ms = z.number().nonnegative();
const instance = count;

/** Comes first, and says how to read the rest. */
const startEvent = z.strictObject({
  type: z.literal('start'),
  version: z.literal(1),
  at,
  model: z.string(),
  /** Interval of the reported iterations: those whose number is a multiple of it. */
  every: z.int().min(1),
  /** The numbers of a cell, in order; zeros at its end are left out. */
  cell: z.tuple(CELL_FIELDS.map((field) => z.literal(field)) as [z.ZodLiteral<string>]),
  /** Meaning of `work` in a cell and of the last number of `sent_back`. */
  work: z.tuple(SLOT_WORK.map((work) => z.literal(work)) as [z.ZodLiteral<string>]),
  sent_back_for: z.tuple(SENT_BACK_FOR.map((why) => z.literal(why)) as [z.ZodLiteral<string>]),
});

/** At the start and at each change: a crash is `recovering` (or `failed`, for a pause), then `ready`. */
const engineEvent = z.strictObject({
  type: z.literal('engine'),
  at,
  /** Which of the model's processes. */
  instance,
  state: z.enum(ENGINE_STATES),
  /** Since the server's start. */
  crashes: count,
  /** Requests that go on when it is back. */
  unfinished: count,
  /** Slots of the KV cache, and the tokens that its memory holds; null before it has been ready. */
  slots: count.nullable(),
  kv_tokens: count.nullable(),
});

/** Before the first step in which it appears; again after losses. */
const requestEvent = z.strictObject({
  type: z.literal('request'),
  instance,
  /** As cells have it. */
  id: count,
  /** Its `x-request-id`; null where it has none. */
  request_id: z.string().nullable(),
  /** Its service class, or `prefetch` or `pin`; null if it is not known any more. */
  class: z.string().nullable(),
  prompt_tokens: count,
  max_tokens: count,
  arrived_at: at.nullable(),
});

const stepEvent = z.strictObject({
  type: z.literal('step'),
  instance,
  /** Number of the iteration, in the life of the engine's process. */
  step: count,
  at,
  /** From planning to the last sampled token; the model's runs alone; what the cost model expected. */
  ms,
  run_ms: ms,
  predicted_ms: z.number(),
  cells: z.array(z.array(count).min(1).max(CELL_FIELDS.length)),
  /** Ids of the first requests that wait in the engine, and how many do. */
  waiting: z.array(count),
  num_waiting: count,
  /** Id, slot and reason of requests that gave up their slots for this step. */
  sent_back: z.array(z.tuple([count, count, count])),
  /** KV cache: tokens of a page, pages, those of running requests, those of kept texts. */
  pages: z.tuple([count, count, count, count]),
});

/** Requests that have no place in an engine yet. */
const queueEvent = z.strictObject({
  type: z.literal('queue'),
  at,
  num_waiting: count,
  /** The first of them. */
  requests: z.array(
    z.strictObject({
      request_id: z.string(),
      class: z.string().nullable(),
      prompt_tokens: count,
      waited_ms: ms,
    }),
  ),
});

/** The client read too slowly: `steps` steps are missing here. */
const lostEvent = z.strictObject({ type: z.literal('lost'), steps: count });

export const stepsEvent = z.discriminatedUnion('type', [
  startEvent,
  engineEvent,
  requestEvent,
  stepEvent,
  queueEvent,
  lostEvent,
]);

export type StepsEvent = z.infer<typeof stepsEvent>;

export type StepsEventOf<Type extends StepsEvent['type']> = Extract<
  StepsEvent,
  { readonly type: Type }
>;
