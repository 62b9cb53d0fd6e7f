import type { Hono } from 'hono';
import type { ServerEnv } from '../context.ts';
import { notImplemented } from '../errors.ts';

/** A refusal: an answer would be taken for a judgment. */
export function moderationRoute(app: Hono<ServerEnv>): void {
  app.post('/v1/moderations', () => {
    throw notImplemented(
      'Nothing is moderated here: that takes a model that was trained to judge texts, and its categories. Ask the service that you have for it.',
    );
  });
}
