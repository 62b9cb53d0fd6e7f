/**
 * One iteration as numbers, for those who watch the engine: which slot had which request, and what was
 * computed there. Nothing of a text is in it. It crosses to the front with the step's tokens.
 */

/** Work of a slot in an iteration; a cell holds the index in this list. */
export const SLOT_WORK = [
  /** A chunk of a prompt, or of a text that is computed again. */
  'prefill',
  /** The last token of a text that grows. */
  'decode',
  /** The same, and a draft to be verified. */
  'verify',
  /** Computed, and then could sample nothing: the mask of its grammar was late. */
  'grammar',
  /** Its sequence had no part in the step. */
  'held',
  /** Its run failed, or its logits can't be sampled; the sequence ends. */
  'failed',
  /** No sequence: it is kept for the text of one that ended. */
  'kept',
] as const;

export type SlotWork = (typeof SLOT_WORK)[number];

/** The numbers of a cell, in order. */
export const CELL_FIELDS = [
  'slot',
  /** Id of its request in the engine; 0 for a text that is kept. */
  'request',
  /** Place in SLOT_WORK. */
  'work',
  /** Position of the first token that was computed: the cache had all before it. */
  'start',
  /** Tokens that ran through the model, those of a draft included; of a text that is kept, its length. */
  'computed',
  /** Tokens that the text has more. */
  'sampled',
  /** Pages of memory. */
  'pages',
  /** Where the sequence has just got its slot: tokens that the cache had of it. */
  'cached',
  /** Tokens of the draft, and those that came true. */
  'drafted',
  'accepted',
] as const;

export type CellField = (typeof CELL_FIELDS)[number];

export const CELL_LENGTH = CELL_FIELDS.length;

/** Why a sequence gave up its slot, as numbers. */
export const SENT_BACK_FOR = ['memory', 'class'] as const;

/** Most waiting sequences that a record lists by id. */
export const MAX_TOLD_WAITING = 64;

export interface StepRecord {
  /** Counts iterations of the engine's process, from 0 on. */
  readonly step: number;
  /** Unix time in milliseconds, with fractions. */
  readonly startedAt: number;
  /** From planning to the last sampled token, in milliseconds. */
  readonly ms: number;
  /** The model's runs alone, and what the cost model expected of them. */
  readonly runMs: number;
  readonly predictedMs: number;
  /** [cells][CELL_FIELDS]: slots with a sequence or a text. */
  readonly cells: Float64Array;
  /** Ids of the first that have no slot, in order. */
  readonly waiting: Float64Array;
  readonly numWaiting: number;
  /** [sequences][id, slot, place in SENT_BACK_FOR]: who gave up its slot for this step. */
  readonly sentBack: Float64Array;
  readonly pages: {
    /** Positions of a page. */
    readonly length: number;
    readonly total: number;
    /** Pages of running sequences and of cached texts; the rest is free. */
    readonly running: number;
    readonly kept: number;
  };
}
