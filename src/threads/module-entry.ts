/** Whether this runs from the TypeScript sources, or from the build. */
export const RUNS_FROM_SOURCE = import.meta.url.endsWith('.ts');

/** @param entry URL of a module with the ending `.js` @returns that of its source, if this is one */
export function moduleEntry(entry: URL): URL {
  return RUNS_FROM_SOURCE ? new URL(entry.href.replace(/\.js$/, '.ts')) : entry;
}
