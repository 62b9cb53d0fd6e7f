/** Headers by which browsers keep the page within its bounds. */
import type { HonoRequest } from 'hono';
import { isLoopback } from '../http/hosts.ts';

/**
 * Nothing from elsewhere, nothing inline, no code from strings, and no HTML from strings either: with
 * Trusted Types and no policy, a browser refuses `innerHTML`. So whatever a model says stays text.
 */
export const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const ANYWHERE: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
};

const TRUSTED: Readonly<Record<string, string>> = {
  ...ANYWHERE,
  'cross-origin-opener-policy': 'same-origin',
};

/**
 * For the answer to a request. Browsers keep the page apart from its opener only if they trust where it
 * comes from; on plain HTTP over a network they would complain in their console at each load.
 */
export function securityHeaders(req: HonoRequest): Readonly<Record<string, string>> {
  return isTrusted(req) ? TRUSTED : ANYWHERE;
}

/** Whether it came over TLS, here or at a proxy, or from this machine. */
function isTrusted(req: HonoRequest): boolean {
  const { protocol, hostname } = new URL(req.url);
  if (protocol === 'https:' || req.header('x-forwarded-proto') === 'https') return true;
  return isLoopback(hostname.replaceAll(/[[\]]/g, ''));
}
