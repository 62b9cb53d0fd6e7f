/**
 * Stands in for src/threads/module-entry.ts where `dist` is built from the sources as they are
 * (vitest.config.ts): processes and threads then start from it, in a third of the time. Modules of tests
 * have no build.
 */
const SOURCES = new URL('../../src/', import.meta.url).href;
const BUILD = new URL('../../dist/', import.meta.url).href;

/** @param entry URL of a module with the ending `.js` @returns that of its build, or of a test's source */
export function moduleEntry({ href }: URL): URL {
  if (href.startsWith(SOURCES)) return new URL(BUILD + href.slice(SOURCES.length));
  return new URL(href.replace(/\.js$/, '.ts'));
}

export { isSource } from '../../src/threads/module-entry.ts';
