/** Pages in Prometheus' text format, taken apart by metric. */

/** A metric with its help, its type and its samples. */
export interface Family {
  readonly name: string;
  /** The lines of its help and its type. */
  readonly head: string;
  readonly samples: string;
}

export function familiesOf(page: string): Family[] {
  const families: Family[] = [];
  for (let start = page.indexOf('# HELP '); start >= 0;) {
    const next = page.indexOf('\n# HELP ', start);
    const block = page.slice(start, next < 0 ? page.length : next);
    const samplesAt = block.indexOf('\n', block.indexOf('\n# TYPE ') + 1);
    const head = samplesAt < 0 ? block : block.slice(0, samplesAt);
    const name = head.slice('# HELP '.length, head.indexOf(' ', '# HELP '.length));
    families.push({ name, head, samples: samplesAt < 0 ? '' : block.slice(samplesAt).trim() });
    start = next < 0 ? -1 : next + 1;
  }
  return families;
}

/** Each metric once, with the samples of all pages. */
export function mergeFamilies(pages: readonly string[]): Family[] {
  const merged = new Map<string, Family>();
  for (const family of pages.flatMap(familiesOf)) {
    const before = merged.get(family.name);
    const samples = before ? `${before.samples}\n${family.samples}` : family.samples;
    merged.set(family.name, { ...family, samples });
  }
  return [...merged.values()];
}

export function toPage(families: readonly Family[]): string {
  return families.map(({ head, samples }) => `${head}\n${samples}\n\n`).join('');
}
