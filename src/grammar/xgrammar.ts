/** Loads xgrammar's WebAssembly build, which is made for browsers and bundlers. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { format } from 'node:util';
import { compileFunction, constants } from 'node:vm';
import type XGrammar from '@mlc-ai/web-xgrammar';

export type XGrammarModule = typeof XGrammar;

/** What the library printed since this was last emptied: it gives its reasons in no other way. */
export const printed: string[] = [];

/**
 * To be called once, in a thread of its own: it takes over the console. The package says that it is
 * an ES module but holds a CommonJS script, so Node can neither import nor require it.
 */
export function loadXGrammar(): XGrammarModule {
  const print = (...values: unknown[]): void => {
    printed.push(format(...values));
  };
  Object.assign(console, { log: print, warn: print, error: print });
  const require = createRequire(import.meta.url);
  const path = require.resolve('@mlc-ai/web-xgrammar');
  const script = compileFunction(
    readFileSync(path, 'utf8'),
    ['exports', 'module', 'require', '__filename'],
    { filename: path, importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER },
  );
  const module: { exports: { default?: XGrammarModule } } = { exports: {} };
  script(module.exports, module, require, path);
  if (module.exports.default === undefined) throw new Error(`${path} is not what it was`);
  return module.exports.default;
}
