/// <reference lib="esnext.disposable" preserve="true" />
import { createLogger } from '../../observability/logger.ts';
import type { SERVE_FLAGS } from '../../settings/flag-sets.ts';
import type { ProgramOptions } from '../../settings/program-options.ts';
import { programSettings } from '../../settings/program-settings.ts';
import { openServer } from '../server/open-server.ts';

/** All settings of `chairlift serve`; `chairlift serve --help=all` says what each is. */
export type ServeOptions = ProgramOptions<Exclude<(typeof SERVE_FLAGS)[number], 'check'>>;

/** A server within this process. */
export interface Server {
  /** Such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /**
   * Takes no new requests, finishes what runs within `shutdownTimeout` seconds, and closes everything: nothing
   * of it keeps this process alive then.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Serves models over HTTP and WebSocket, as `chairlift serve` does, but for signals and errors that nothing
 * catches: they are the program's.
 * @param options the flags of `chairlift serve` in camelCase, such as `{ models: ['summit'], port: 0 }`
 * @returns once the models are loaded
 * @throws UsageError for settings, UserError for files and ports, and why the only model could not be
 *   loaded; then nothing stays open
 */
export async function serve(options: ServeOptions = {}): Promise<Server> {
  const settings = await programSettings(options);
  const { logLevel, logFormat } = settings.options;
  const server = await openServer(settings, createLogger(logLevel, logFormat));
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    // A model that is being loaded ends once it is.
    closing ??= server.drain().then(() => server.ready.catch(() => {}));
    return closing;
  };
  try {
    await server.ready;
  } catch (error) {
    await close();
    throw error;
  }
  return { url: server.ports.url, close, [Symbol.asyncDispose]: close };
}
