/** Which server a command asks. */
import type { Options } from '../../settings/options.ts';
import { secretOf } from '../../settings/secret-file.ts';

export interface ServerAccess {
  readonly url: URL;
  /** False for the default address. */
  readonly isGiven: boolean;
  readonly apiKey: string | null;
}

const DEFAULT_URL = 'http://127.0.0.1:8000/';

/** @throws UserError for a file that holds no key */
export async function serverAccess({
  url,
  serverKey,
  serverKeyFile,
}: Options<'url' | 'serverKey' | 'serverKeyFile'>): Promise<ServerAccess> {
  const key = await secretOf('api-key', serverKey, serverKeyFile, String);
  return {
    url: url ?? new URL(DEFAULT_URL),
    isGiven: url !== undefined,
    apiKey: key ?? null,
  };
}
