/** /sleep, /wake_up and /is_sleeping, as in vLLM: the memory of all models for somebody else, for a while. */
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { callerOf, requireAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { sleepFields } from '../schemas/admin.ts';
import { parseWith } from '../schemas/parse.ts';

export function sleepRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const { sleep } = context.models;
  const answer = (c: Context<ServerEnv>) => c.json({ is_sleeping: sleep.isAsleep });
  const verbs = [
    ['/sleep', sleepFields, () => sleep.begin()],
    ['/wake_up', z.looseObject({}), () => sleep.end()],
  ] as const;
  app.get('/is_sleeping', requireAdmin(context), answer);
  for (const [path, fields, act] of verbs) {
    app.post(path, requireAdmin(context), async (c) => {
      const { client } = callerOf(context, c);
      const { json } = await context.bodies.readWithTail(c.env.incoming, client, null);
      for (const asked of [json ?? {}, c.req.query()]) parseWith(fields, asked);
      await act();
      return answer(c);
    });
  }
}
