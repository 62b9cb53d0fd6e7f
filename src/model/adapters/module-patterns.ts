import { createContext, Script } from 'node:vm';

import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';

/** Letters, digits, dots: it matches in no time. */
const PLAIN = /^(?:[\w.]|\\\.)*$/;

const MATCH = new Script('whole.test(module)');

/**
 * Regular expressions of an adapter, which name modules. Who wrote them may have wanted them to take
 * for ever: all together have a second, which only a context of their own can be held to.
 */
export class ModulePatterns {
  readonly #origin: string;
  readonly #context = createContext({});
  #msLeft: number = MODEL_LIMITS.adapterPatternsMs;

  /** @param origin what to call them in errors */
  constructor(origin: string) {
    this.#origin = origin;
  }

  /**
   * As PEFT does it: a pattern is the end of a module's name, from a dot on, or all of it.
   * @returns says whether a module is meant; throws ModelError when time is up
   * @throws {ModelError} if it is no regular expression
   */
  matcher(pattern: string): (module: string) => boolean {
    const whole = this.#parse(pattern);
    if (PLAIN.test(pattern)) return (module) => whole.test(module);
    return (module) => this.#test(whole, module);
  }

  #parse(pattern: string): RegExp {
    try {
      return new RegExp(`^(?:.*\\.)?(?:${pattern})$`);
    } catch (error) {
      throw new ModelError(`${this.#origin}: "${pattern}" is not a regular expression`, {
        cause: error,
      });
    }
  }

  #test(whole: RegExp, module: string): boolean {
    const startedAt = performance.now();
    try {
      const timeout = Math.max(1, Math.ceil(this.#msLeft));
      return (
        MATCH.runInContext(Object.assign(this.#context, { whole, module }), { timeout }) === true
      );
    } catch (error) {
      throw new ModelError(
        `${this.#origin}: its patterns take more than ${MODEL_LIMITS.adapterPatternsMs} ms to match`,
        { cause: error },
      );
    } finally {
      this.#msLeft -= performance.now() - startedAt;
    }
  }
}
