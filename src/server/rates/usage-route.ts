/** /v1/usage: what each client has had computed. Operators see all; where there are none, clients see their own. */
import type { Hono } from 'hono';
import { checkAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';

export function usageRoute(app: Hono<ServerEnv>, context: ServerContext): void {
  const { keys, usage, startedAt } = context;
  app.get('/v1/usage', (c) => {
    const isOwn = !keys.isUnguarded && !keys.hasAdmin;
    if (!isOwn) checkAdmin(context, c.env.incoming);
    const entries = usage.list(isOwn ? (c.get('client') ?? '') : null);
    return c.json({
      object: 'list',
      since: startedAt,
      data: entries.map((entry) => ({
        object: 'usage',
        client: entry.client === '' ? null : entry.client,
        model: entry.model,
        requests: entry.requests,
        cached_requests: entry.cachedRequests,
        prompt_tokens: entry.promptTokens,
        completion_tokens: entry.outputTokens,
        total_tokens: entry.promptTokens + entry.outputTokens,
      })),
    });
  });
}
