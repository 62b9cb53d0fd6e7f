/**
 * To be preloaded into a server and its processes: the free engine takes the engine's place. JavaScript,
 * since the loader of TypeScript would be there twice in the server's threads.
 */
import { isMainThread } from 'node:worker_threads';
import { tsImport } from 'tsx/esm/api';

const isEngine = isMainThread && /engine\/process\/main\.(ts|js)$/.test(process.argv[1] ?? '');
// It never ends, so that the process's own module never gets its turn.
if (isEngine) await tsImport('./free-engine.ts', import.meta.url);
