import { createHash } from 'node:crypto';
import type { GrammarSource } from '../../grammar/grammar-source.ts';
import type { GrammarSpec, GrammarVocabulary } from '../../grammar/grammar-spec.ts';
import { LIMITS } from '../../limits.ts';
import type { Caller } from '../caller.ts';
import { GrammarPool, type GrammarPoolOptions } from './grammar-pool.ts';

export interface GrammarCheckerOptions extends Partial<GrammarPoolOptions> {
  readonly vocabulary: GrammarVocabulary;
}

/** A grammar that is being compiled. */
interface Running {
  readonly spec: Promise<GrammarSpec>;
  /** Aborts when nobody waits for it any more. */
  readonly abandoned: AbortController;
  numCallers: number;
}

/**
 * Makes grammars from requests, and checks them before anything is generated with them. A client's
 * grammar that passed is not checked again for a while.
 *
 * The engine's process compiles it once more, for what is compiled can't leave the memory that it was
 * compiled in. A grammar that is wrong is refused here, before it waits for a place, and one that never
 * ends is stopped here, where no running text depends on the thread.
 */
export class GrammarChecker {
  readonly #pool: GrammarPool;
  /** By client and source, the least recently used first. */
  readonly #passed = new Map<string, GrammarSpec>();
  #numCharacters = 0;
  readonly #running = new Map<string, Running>();

  constructor(options: GrammarCheckerOptions) {
    const { grammarPoolSize, grammarCompileMs, grammarSliceMs } = LIMITS;
    const defaults = {
      size: grammarPoolSize,
      timeoutMs: grammarCompileMs,
      sliceMs: grammarSliceMs,
    };
    this.#pool = new GrammarPool({ ...defaults, ...options });
  }

  /**
   * @throws GrammarError saying what is wrong with the grammar, or which limit it exceeds;
   *   QueueFullError when too many wait; the signal's reason on abort
   */
  async check(source: GrammarSource, caller: Caller): Promise<GrammarSpec> {
    caller.signal.throwIfAborted();
    const key = keyOf(source, caller.client);
    const passed = this.#passed.get(key);
    if (passed !== undefined) {
      this.#remember(key, passed);
      return passed;
    }
    const running = this.#running.get(key) ?? this.#start(key, source, caller.client);
    running.numCallers++;
    try {
      return await untilAborted(running.spec, caller.signal);
    } finally {
      if (--running.numCallers === 0) {
        if (this.#running.get(key) === running) this.#running.delete(key);
        running.abandoned.abort(caller.signal.reason);
      }
    }
  }

  close(): void {
    this.#pool.close();
  }

  #start(key: string, source: GrammarSource, client: string): Running {
    const abandoned = new AbortController();
    const compile = async (): Promise<GrammarSpec> => {
      const caller = { client, signal: abandoned.signal };
      const { ebnf, isSlow } = await this.#pool.compile(source, caller);
      const spec = { ebnf, field: source.field, owner: isSlow ? `${client} slow` : client };
      this.#remember(key, spec);
      return spec;
    };
    const running = { spec: compile(), abandoned, numCallers: 0 };
    this.#running.set(key, running);
    return running;
  }

  /** Last in the map is the last used. */
  #remember(key: string, spec: GrammarSpec): void {
    if (this.#passed.delete(key)) this.#numCharacters -= spec.ebnf.length;
    this.#passed.set(key, spec);
    this.#numCharacters += spec.ebnf.length;
    for (const [oldest, { ebnf }] of this.#passed) {
      if (this.#numCharacters <= LIMITS.grammarCacheCharacters) break;
      this.#passed.delete(oldest);
      this.#numCharacters -= ebnf.length;
    }
  }
}

/** Also by client: how fast a grammar passes must not reveal what others ask for. */
function keyOf(source: GrammarSource, client: string): string {
  return createHash('sha256')
    .update(JSON.stringify([client, source]))
    .digest('base64');
}

/** @throws the signal's reason on abort, else as `promise` */
async function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
