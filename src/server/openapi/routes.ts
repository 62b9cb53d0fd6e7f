/** /openapi.json and /docs. */
import { promisify } from 'node:util';
import { gzip as gzipInThread } from 'node:zlib';
import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import type { ServerConfig } from '../config.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { ownTurn } from '../../own-turn.ts';
import { takesGzip } from '../http/takes-gzip.ts';
import { POLICY, securityHeaders } from '../ui/security-headers.ts';
import { createDocument } from './document.ts';
import { createPage } from './page.ts';
import { STYLE_SOURCE } from './page-style.ts';

/** A placeholder for this server's address: each reader may know it by another name. */
const SOME_ORIGIN = 'http://server.invalid';

/** Name of the forms' script, which is built with the page of the server. */
const SCRIPT = 'docs.js';

/** Names of this server for which the page is kept. */
const MAX_ORIGINS = 8;

const gzipped = promisify(gzipInThread);

/** As of the server's page, but that its own style is in it. */
const OWN_POLICY = POLICY.replace("style-src 'self'", `style-src 'self' ${STYLE_SOURCE}`);

export function documentRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const { config, models } = context;
  const hasPage = context.page?.files.has(SCRIPT) ?? false;
  // Made at first use: each takes some milliseconds, and few clients need it.
  let document: Promise<Sent> | undefined;
  let page: string | undefined;
  const pages = new Map<string, Promise<Sent>>();
  const pageFor = async (origin: string): Promise<Sent> => {
    const { version, rootPath } = config;
    const modelName = models.list()[0]?.name ?? 'model';
    page ??= String(
      await createPage({ origin: SOME_ORIGIN, rootPath, version, modelName, hasPage }),
    );
    const shown = String(await html`${origin}`);
    // A function: in a text, `$` and what follows would stand for parts of the page.
    return compressed(page.replaceAll(SOME_ORIGIN, () => shown));
  };
  app.get('/openapi.json', async (c) => {
    document ??= documentOf(config);
    return send(c, await document, { 'content-type': 'application/json' });
  });
  app.get('/docs', async (c) => {
    const origin = new URL(c.req.url).origin + config.rootPath;
    const known = pages.get(origin) ?? pageFor(origin);
    // Whoever makes up names of this server gets the page, and no more of its memory.
    if (pages.size < MAX_ORIGINS) pages.set(origin, known);
    return send(c, await known, {
      ...securityHeaders(c.req),
      'content-security-policy': OWN_POLICY,
      'content-type': 'text/html; charset=utf-8',
    });
  });
}

async function documentOf({ version, rootPath }: ServerConfig): Promise<Sent> {
  const document = await createDocument(version, rootPath);
  const paths: string[] = [];
  for (const [path, methods] of Object.entries(Object(document['paths']))) {
    paths.push(`${JSON.stringify(path)}:${JSON.stringify(methods)}`);
    await ownTurn();
  }
  const rest = JSON.stringify({ ...document, paths: null });
  return compressed(rest.replace('"paths":null', () => `"paths":{${paths.join(',')}}`));
}

interface Sent {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
}

async function compressed(text: string): Promise<Sent> {
  const plain = new Uint8Array(Buffer.from(text));
  return { plain, gzip: new Uint8Array(await gzipped(plain)) };
}

function send(c: Context<ServerEnv>, { plain, gzip }: Sent, headers: Record<string, string>) {
  const vary = { ...headers, vary: 'accept-encoding' };
  if (!takesGzip(c.req.header('accept-encoding'))) return c.body(plain, 200, vary);
  return c.body(gzip, 200, { ...vary, 'content-encoding': 'gzip' });
}
