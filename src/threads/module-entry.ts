/** Whether this runs from the TypeScript sources, or from the build. */
const RUNS_FROM_SOURCE = import.meta.url.endsWith('.ts');

/** @param entry URL of a module with the ending `.js` @returns that of its source, if this is one */
export function moduleEntry(entry: URL): URL {
  return RUNS_FROM_SOURCE ? new URL(entry.href.replace(/\.js$/, '.ts')) : entry;
}

/** @param module URL from `moduleEntry` @returns whether what starts it has to bring a loader */
export function isSource(module: URL): boolean {
  return module.href.endsWith('.ts');
}
