/**
 * The path below which a proxy shows a server, such as `/llm`: what the proxy left of it is taken off requests, and
 * put before addresses that browsers are given.
 */

/** @param url of a request @param rootPath empty for none */
export function withoutRoot(url: string, rootPath: string): string {
  if (rootPath === '' || !url.startsWith(rootPath)) return url;
  const rest = url.slice(rootPath.length);
  if (rest.startsWith('/')) return rest;
  return rest === '' || rest.startsWith('?') ? `/${rest}` : url;
}
