/** Loads xgrammar's WebAssembly build, which is made for browsers and bundlers. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { format } from 'node:util';
import { compileFunction, constants } from 'node:vm';
import type XGrammar from '@mlc-ai/web-xgrammar';
import { LIMITS } from '../limits.ts';

export type XGrammarModule = typeof XGrammar;

const BYTES_PER_PAGE = 65_536;

/** Lines that the library printed since this was last emptied: it reports reasons only that way. */
export const printed: string[] = [];

/** The WebAssembly's memory, since it first grew. */
export const memory = { bytes: 0, isExhausted: false };

/** As far as it is used: Node's types have no WebAssembly. */
interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow: (this: WasmMemory, numPages: number) => number;
}

declare const WebAssembly: { readonly Memory: { readonly prototype: WasmMemory } };

/** WebAssembly may take 2 GB, and a hostile grammar uses all that it can get. */
function boundMemory(maxBytes: number): void {
  const { prototype } = WebAssembly.Memory;
  const { grow } = prototype;
  prototype.grow = function bounded(this: WasmMemory, numPages): number {
    if (this.buffer.byteLength + numPages * BYTES_PER_PAGE > maxBytes) {
      memory.isExhausted = true;
      throw new RangeError('the memory is exhausted');
    }
    const previous = grow.call(this, numPages);
    memory.bytes = this.buffer.byteLength;
    return previous;
  };
}

/**
 * To be called once, in a thread of its own: it takes over the console and
 * bounds the memory. The package says that it is
 * an ES module but holds a CommonJS script, so Node can neither import nor require it.
 */
export function loadXGrammar(): XGrammarModule {
  const print = (...values: unknown[]): void => {
    printed.push(format(...values));
  };
  boundMemory(LIMITS.grammarMemoryBytes);
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
  if (module.exports.default === undefined) throw new Error(`${path} exports nothing`);
  return module.exports.default;
}
