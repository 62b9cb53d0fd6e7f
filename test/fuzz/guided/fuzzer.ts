/**
 * Looks for inputs that execute what none did before, and keeps them to make others of. V8 counts what is
 * executed, which takes milliseconds to read: so many inputs are run together, and by halves once more where
 * something was new among them.
 */
import { Coverage } from './coverage.ts';
import { Mutator, Random } from './mutator.ts';
import type { Target } from './target.ts';

/** Inputs that are run together: more the rarer something is new. */
const MIN_BATCH = 16;
const MAX_BATCH = 1024;
/** Inputs to a server, which takes only so many at once. */
const MAX_PARALLEL = 64;
/** Bytes on the heap that may be there more than after the first inputs. */
const MAX_GROWTH = 96 * 2 ** 20;
const LOOK_AT_HEAP_MS = 5000;

export interface Finding {
  readonly what: string;
  readonly input: Uint8Array;
}

export interface FuzzResult {
  readonly cases: number;
  readonly kept: readonly Uint8Array[];
  readonly findings: readonly Finding[];
  readonly reached: { readonly functions: number; readonly share: number };
}

export interface FuzzOptions {
  readonly seconds: number;
  readonly seed: number;
  readonly inputs: readonly Buffer[];
  /** Bytes of the inputs that are kept. */
  readonly maxKeptBytes: number;
  /** Told of each input before it is run, for whoever sees that it never ends. */
  readonly begins: (input: Buffer) => void;
  readonly collectGarbage: () => void;
}

export class Fuzzer {
  readonly #target: Target;
  readonly #options: FuzzOptions;
  readonly #random: Random;
  readonly #mutator: Mutator;
  readonly #pool: Buffer[] = [];
  /** By what is wrong: one input is enough. */
  readonly #findings = new Map<string, Finding>();
  #coverage: Coverage;
  #cases = 0;
  #meanWork = 0;
  /** Errors that were thrown where nobody waits for them. */
  #stray: unknown = null;

  constructor(target: Target, options: FuzzOptions) {
    this.#target = target;
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#mutator = new Mutator(this.#random, target.dictionary ?? [], target.maxBytes);
    this.#coverage = this.#newCoverage();
  }

  async run(): Promise<FuzzResult> {
    const throwStray = (error: unknown): void => {
      this.#stray = error;
    };
    process.on('uncaughtException', throwStray).on('unhandledRejection', throwStray);
    await this.#target.start?.();
    for (const input of this.#options.inputs) await this.#search([input]);
    if (this.#pool.length === 0) this.#pool.push(Buffer.from('a'));
    const end = performance.now() + this.#options.seconds * 1000;
    const most = this.#target.isParallel === true ? MAX_PARALLEL : MAX_BATCH;
    let [size, heap, lookAt] = [MIN_BATCH, 0, 0];
    while (performance.now() < end) {
      const inputs = Array.from({ length: size }, () => this.#next());
      const isNew = await this.#search(inputs);
      size = isNew ? Math.max(MIN_BATCH, size / 2) : Math.min(most, size * 2);
      if (performance.now() < lookAt) continue;
      lookAt = performance.now() + LOOK_AT_HEAP_MS;
      this.#options.collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      if (heap === 0) heap = heapUsed + external;
      if (heapUsed + external - heap <= MAX_GROWTH) continue;
      this.#found('memory grows', inputs[0] ?? Buffer.alloc(0));
      break;
    }
    const { reached } = this.#coverage;
    const kept = await this.#smallest();
    await this.#target.stop?.();
    return { cases: this.#cases, kept, findings: [...this.#findings.values()], reached };
  }

  #newCoverage(): Coverage {
    const packages = (this.#target.packages ?? []).map((name) => `/node_modules/${name}/`);
    return new Coverage(
      (url) => /\/src\//.test(url) || packages.some((name) => url.includes(name)),
    );
  }

  /** New ones are taken more often. */
  #next(): Buffer {
    const { length } = this.#pool;
    const from = this.#random.below(2) === 0 ? Math.floor(length * 0.8) : 0;
    const input = this.#pool[from + this.#random.below(length - from)];
    return this.#mutator.mutate(
      input ?? Buffer.alloc(0),
      this.#random.of(this.#pool, Buffer.alloc(0)),
    );
  }

  /** Runs inputs, and finds those among them that were worth it. @returns whether there are any */
  async #search(inputs: readonly Buffer[]): Promise<boolean> {
    if (this.#target.isParallel === true)
      await Promise.all(inputs.map((input) => this.#try(input)));
    else for (const input of inputs) await this.#try(input);
    const { isNew, learn, work } = this.#coverage.take();
    const stray = this.#stray;
    this.#stray = null;
    const [first] = inputs;
    const isDear = work > this.#target.maxWork + 2 * inputs.length * this.#meanWork;
    this.#meanWork += (work / inputs.length - this.#meanWork) / 16;
    if (first === undefined || !(isNew || isDear || stray !== null)) return false;
    if (inputs.length > 1) {
      const middle = inputs.length >> 1;
      await this.#search(inputs.slice(0, middle));
      await this.#search(inputs.slice(middle));
    } else {
      if (isNew) this.#pool.push(first);
      if (isDear) this.#found(`it takes ${work} blocks`, first);
      if (stray !== null) this.#found(textOf(stray), first);
    }
    // Code that is executed only where many are run at once belongs to none of them.
    learn();
    return true;
  }

  async #try(input: Buffer): Promise<void> {
    this.#cases++;
    this.#options.begins(input);
    try {
      await this.#target.run(input);
    } catch (error) {
      this.#found(textOf(error), input);
    }
  }

  #found(what: string, input: Buffer): void {
    // Kind: the same place, or the same words.
    const kind = / at .*$/.exec(what)?.[0] ?? what.slice(0, 40).replaceAll(/\d+/g, '0');
    const known = this.#findings.get(kind);
    if (known === undefined || known.input.length > input.length)
      this.#findings.set(kind, { what, input });
  }

  /** Those that reach by themselves what all do together, the shortest first. */
  async #smallest(): Promise<Buffer[]> {
    this.#coverage = this.#newCoverage();
    const kept: Buffer[] = [];
    let left = this.#options.maxKeptBytes;
    for (const input of this.#pool.toSorted((a, b) => a.length - b.length)) {
      await this.#try(input);
      const { isNew, learn } = this.#coverage.take();
      if (!isNew || input.length > left) continue;
      learn();
      kept.push(input);
      left -= input.length;
    }
    return kept;
  }
}

/** With the place in our sources, if there is one. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = error.stack?.split('\n').find((line) => /\/src\/|node_modules/.test(line));
  return `${error.name}: ${error.message.slice(0, 800)}${place === undefined ? '' : ` ${place.trim()}`}`;
}
