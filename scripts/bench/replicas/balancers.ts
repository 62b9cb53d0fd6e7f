/** Things that `pickers.ts` and the load that it starts know of each other. */
import { z } from 'zod';

export const BALANCERS = ['least connections', "HAProxy's hash", 'picker'] as const;
export type Balancer = (typeof BALANCERS)[number];
/** Addresses of the picker's replicas, by the names of their pods. */
export const REPLICAS = { one: '127.0.0.2', two: '127.0.0.3', three: '127.0.0.4' };

export const outcomeSchema = z.object({
  requests: z.int(),
  failed: z.int(),
  /** Share of the prompts' tokens. */
  hitRate: z.number(),
  ttftMs: z.object({ p50: z.number(), p95: z.number() }),
  /** Requests that each replica served. */
  served: z.array(z.int()),
});
export type Outcome = z.infer<typeof outcomeSchema>;
