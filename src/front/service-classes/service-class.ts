/** Service classes, and the targets of each. */

/** Times are targets, in milliseconds; null promises nothing. */
export interface ServiceClass {
  readonly name: string;
  /** Further names that `service_tier` may have for it; answers report the first. */
  readonly tiers: readonly string[];
  /**
   * Level of the queue at which its requests begin: lower goes first. Where slots, memory or time are
   * short, those of higher ones give way.
   */
  readonly priority: number;
  /** From arrival to the first token. */
  readonly ttftMs: number | null;
  /** From one token to the next: the scheduler keeps steps this short while such a stream runs. */
  readonly itlMs: number | null;
  /** From arrival to the last token; then the request ends with an error. */
  readonly deadlineMs: number | null;
  /** The most that its requests may hold of the places in the batch, up to 1. */
  readonly share: number;
}

export interface ServiceClasses {
  /** The best first. */
  readonly classes: readonly ServiceClass[];
  /** Class of a request that asks for none, if its key has none either. */
  readonly usual: ServiceClass;
  /** The best that a client may ask for if its key does not say otherwise. */
  readonly best: ServiceClass;
}

const NOTHING_PROMISED = { ttftMs: null, itlMs: null, deadlineMs: null, share: 1 };

/**
 * Standard is what every request had before there were classes, so its streams have no target. Batch
 * is so far behind that no waiting makes up for it: a level counts as a minute.
 */
const DEFAULT_CLASSES: readonly ServiceClass[] = [
  { ...NOTHING_PROMISED, name: 'ultra-low', tiers: [], priority: -20, ttftMs: 100, itlMs: 25 },
  {
    ...NOTHING_PROMISED,
    name: 'interactive',
    tiers: ['priority'],
    priority: -10,
    ttftMs: 500,
    itlMs: 50,
  },
  { ...NOTHING_PROMISED, name: 'standard', tiers: ['default'], priority: 0, ttftMs: 2000 },
  { ...NOTHING_PROMISED, name: 'batch', tiers: ['flex'], priority: 1000 },
];

/** A class as an operator gives it: what is left out is as by default, or promises nothing. */
export type GivenClass = Partial<Omit<ServiceClass, 'name'>>;

/**
 * The default classes; those that are given replace them or are added.
 * @param names of the usual class and of the best that anybody may ask for
 * @throws RangeError for a name that no class has, and for one that two have
 */
export function serviceClasses(
  given: Readonly<Record<string, GivenClass>> = {},
  { usual = 'standard', best = 'standard' } = {},
): ServiceClasses {
  const names = new Set([...DEFAULT_CLASSES.map(({ name }) => name), ...Object.keys(given)]);
  const classes = Array.from(names, (name): ServiceClass => {
    const known = DEFAULT_CLASSES.find((other) => other.name === name);
    return { ...NOTHING_PROMISED, tiers: [], priority: 0, ...known, ...given[name], name };
  }).toSorted((a, b) => a.priority - b.priority);
  const levels = new Map(classes.map((each) => [each.priority, each.name]));
  if (levels.size < classes.length) {
    const twin = classes.find(({ name, priority }) => levels.get(priority) !== name);
    throw new RangeError(`two service classes have the priority ${twin?.priority}`);
  }
  const taken = new Set<string>(['auto']);
  for (const word of classes.flatMap(({ name, tiers }) => [name, ...tiers])) {
    if (taken.has(word)) throw new RangeError(`two service classes are called '${word}'`);
    taken.add(word);
  }
  return { classes, usual: classNamed(classes, usual), best: classNamed(classes, best) };
}

/** @throws RangeError if there is none */
export function classNamed(classes: readonly ServiceClass[], name: string): ServiceClass {
  const found = findClass(classes, name);
  if (found !== undefined) return found;
  const known = classes.map((each) => each.name).join(', ');
  throw new RangeError(`there is no service class '${name}'; there are ${known}`);
}

/** By its name, or another that `service_tier` may have for it. */
export function findClass(
  classes: readonly ServiceClass[],
  name: string,
): ServiceClass | undefined {
  return classes.find((each) => each.name === name || each.tiers.includes(name));
}

/** Lower goes first. */
export function isBetter(one: ServiceClass, other: ServiceClass): boolean {
  return one.priority < other.priority;
}
