/** A real server for the tests of a file: the compiled command line with the embedded model. */
import { afterAll, beforeAll } from 'vitest';
import { type ServerProcess, startServer } from '../../support/server-process.ts';

/** @returns the address, once the tests run */
export function useServer(args: readonly string[] = []): () => string {
  let server: ServerProcess | undefined;
  beforeAll(async () => {
    server = await startServer(args);
  });
  afterAll(async () => {
    await server?.stop();
  });
  return () => {
    if (server === undefined) throw new Error('the server runs in tests alone');
    return server.url;
  };
}
