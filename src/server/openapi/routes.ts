/** /openapi.json and /docs. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import type { ServerContext, ServerEnv } from '../context.ts';
import { createDocument } from './document.ts';
import { createPage } from './page.ts';

/** A placeholder for this server's address: each reader may know it by another name. */
const SOME_ORIGIN = 'http://server.invalid';

export function documentRoutes(app: Hono<ServerEnv>, { config, models }: ServerContext): void {
  // Made at first use: each takes some milliseconds, and few clients need it.
  let document: string | undefined;
  let page: string | undefined;
  app.get('/openapi.json', (c) => {
    document ??= JSON.stringify(createDocument(config.version));
    return c.body(document, 200, { 'content-type': 'application/json' });
  });
  app.get('/docs', async (c) => {
    const { version } = config;
    const modelName = models.list()[0]?.name ?? 'model';
    page ??= String(await createPage({ origin: SOME_ORIGIN, version, modelName }));
    const origin = String(await html`${new URL(c.req.url).origin}`);
    return c.html(page.replaceAll(SOME_ORIGIN, origin), 200, {
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    });
  });
}
