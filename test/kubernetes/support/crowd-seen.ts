/** Answers and troubles that a crowd has seen. */
import { z } from 'zod';

const answerSchema = z.object({
  /** Milliseconds of the clock when it was asked for. */
  at: z.number(),
  /** Until its first token. */
  ttftMs: z.number(),
});
export type Answer = z.infer<typeof answerSchema>;

export const crowdSeenSchema = z.object({
  answers: z.array(answerSchema),
  /** Requests without a whole answer, by what their client was told. */
  failures: z.array(z.string()),
  /** Answers to the same request that differ. */
  different: z.int(),
  /** Between two pieces of an answer. */
  longestGapMs: z.number(),
});
export type CrowdSeen = z.infer<typeof crowdSeenSchema>;
