/** /openapi.json and /docs. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import type { ServerContext, ServerEnv } from '../context.ts';
import { POLICY, SECURITY_HEADERS } from '../ui/security-headers.ts';
import { createDocument } from './document.ts';
import { createPage } from './page.ts';
import { STYLE_SOURCE } from './page-style.ts';

/** A placeholder for this server's address: each reader may know it by another name. */
const SOME_ORIGIN = 'http://server.invalid';

/** Of the forms, which are built with the page of the server. */
const SCRIPT = 'docs.js';

/** As of the server's page, but that its own style is in it. */
const HEADERS = {
  ...SECURITY_HEADERS,
  'content-security-policy': POLICY.replace("style-src 'self'", `style-src 'self' ${STYLE_SOURCE}`),
};

export function documentRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const { config, models } = context;
  const scriptUrl = context.page?.files.has(SCRIPT) ? `/ui/${SCRIPT}` : null;
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
    page ??= String(await createPage({ origin: SOME_ORIGIN, version, modelName, scriptUrl }));
    const origin = String(await html`${new URL(c.req.url).origin}`);
    return c.html(page.replaceAll(SOME_ORIGIN, origin), 200, HEADERS);
  });
}
