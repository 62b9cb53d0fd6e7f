import type { IncomingHttpHeaders } from 'node:http';

/**
 * Whether a browser sent this for a page. Browsers name the page's origin (or `null`) with each POST,
 * forms and beacons included, and its relation to this server with each request; no page can leave
 * them out.
 */
export function isFromPage(headers: IncomingHttpHeaders): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
}
