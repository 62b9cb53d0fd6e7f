/** /v1/embeddings: there, so that its clients are told why it is not. */
import type { Hono } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';
import { notImplemented } from '../errors.ts';

export function embeddingRoutes(app: Hono<ServerEnv>, _context: ServerContext): void {
  app.post('/v1/embeddings', () => {
    throw notImplemented(
      'The models of this server generate text and give no embeddings; use a server with an embedding model.',
    );
  });
}
