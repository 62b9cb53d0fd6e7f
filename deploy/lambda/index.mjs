// The function's entry, `index.handler`, beside the folders that scripts/lambda/bundle.ts gathers. It
// says where things are before anything that asks is loaded.
import nodeModule from 'node:module';

const here = (name) => new URL(name, import.meta.url).pathname;

process.env.CHAIRLIFT_MODEL ??= here('model');
process.env.CHAIRLIFT_CACHE ??= here('cache');
// What V8 made of the code; of Node.js 22 and newer. Threads and processes find it by the variable.
process.env.NODE_COMPILE_CACHE ??= here('compiled');
nodeModule.enableCompileCache?.(process.env.NODE_COMPILE_CACHE);

export const { handler } = await import('./dist/lambda/handler.js');
