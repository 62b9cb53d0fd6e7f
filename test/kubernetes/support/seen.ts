/** Requests of a cluster's clients, and the troubles that they see. */
import { z } from 'zod';

/** Printed once the texts are known. */
export const UNDISTURBED = 'undisturbed';

export const seenSchema = z.object({
  answers: z.int(),
  /** Requests without an answer, by what their client was told. */
  failures: z.array(z.string()),
  /** Answers whose text is another one than in the undisturbed run. */
  different: z.int(),
  /** Between two pieces of an answer. */
  longestGapMs: z.number(),
  /** Answers that went on after their connection broke. */
  resumed: z.int(),
  /** Sockets after the first. */
  reopened: z.int(),
});
export type Seen = z.infer<typeof seenSchema>;

/** A request whose answer is always the same; half are greedy. */
export const STORY = (index: number) => ({
  model: 'summit',
  prompt: `Once upon a time, number ${index} went out`,
  max_tokens: 120,
  ignore_eos: true,
  ...(index % 2 === 0 ? { temperature: 0 } : { temperature: 0.9, seed: index }),
});
