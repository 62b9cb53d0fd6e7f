/** The page: `/` for browsers, its files, and its views below `/ui`. */
import type { Context, Hono } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';
import { routeNotFound } from '../errors.ts';
import { takesGzip } from '../http/takes-gzip.ts';
import type { PageFile } from './page-files.ts';
import { securityHeaders } from './security-headers.ts';

/** Where Vite puts files whose names have a hash of their content. */
const HASHED = /^assets\//;
const FOR_EVER = 'public, max-age=31536000, immutable';

export function uiRoutes(app: Hono<ServerEnv>, { page, config }: ServerContext): void {
  const { rootPath, version } = config;
  app.get('/', (c) => {
    c.header('vary', 'accept, accept-encoding');
    if (page && c.req.header('accept')?.includes('text/html')) return send(c, page.index);
    return c.json({
      // By this Ollama's clients tell whether a server is there.
      status: 'Chairlift is running',
      version,
      openai_base_url: `${rootPath}/v1`,
      models: `${rootPath}/v1/models`,
      documentation: `${rootPath}/docs`,
      openapi: `${rootPath}/openapi.json`,
    });
  });
  if (!page) return;
  app.get('/ui/*', (c) => {
    const name = c.req.path.slice('/ui/'.length);
    const file = page.files.get(name);
    if (file !== undefined) return send(c, file, HASHED.test(name) ? FOR_EVER : undefined);
    // A view's address is the page; a file that is gone is not.
    if (HASHED.test(name)) throw routeNotFound(c.req.method, c.req.path);
    return send(c, page.index);
  });
}

function send(c: Context<ServerEnv>, file: PageFile, caching = 'no-cache'): Response {
  const { type, bytes, gzip, etag } = file;
  const packed = takesGzip(c.req.header('accept-encoding')) ? gzip : null;
  const headers: Record<string, string> = {
    ...securityHeaders(c.req),
    'content-type': type,
    'cache-control': caching,
    etag,
    vary: 'accept, accept-encoding',
  };
  if (c.req.header('if-none-match') === etag) return c.body(null, 304, headers);
  if (packed !== null) headers['content-encoding'] = 'gzip';
  return c.body(packed ?? bytes, 200, headers);
}
