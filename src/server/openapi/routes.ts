/** /openapi.json and /docs. */
import type { Hono } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';
import { createDocument } from './document.ts';
import { createPage } from './page.ts';

export function documentRoutes(app: Hono<ServerEnv>, { config, model }: ServerContext): void {
  // Made when first asked for: it takes some milliseconds, and few ask.
  let document: string | undefined;
  app.get('/openapi.json', (c) => {
    document ??= JSON.stringify(createDocument(config.version));
    return c.body(document, 200, { 'content-type': 'application/json' });
  });
  app.get('/docs', (c) => {
    const { origin } = new URL(c.req.url);
    const page = createPage({ origin, version: config.version, modelName: model.id });
    return c.html(page, 200, {
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    });
  });
}
