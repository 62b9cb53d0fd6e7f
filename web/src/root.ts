/** Path below which the server is seen here, such as `/llm`, and so this page; empty where it has a name of its own. */
export const ROOT = rootOf(import.meta.url);

/** @param script address of a file of this page */
export function rootOf(script: string): string {
  const { pathname } = new URL(script);
  return /^(.*)\/ui\/(?:assets\/[^/]+|docs\.js)$/.exec(pathname)?.[1] ?? '';
}
