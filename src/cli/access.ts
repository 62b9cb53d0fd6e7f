/** Who gets in, by flags and files: API keys and TLS. */
import type { Logger } from 'pino';
import { serviceClasses, type ServiceClasses } from '../front/service-classes/service-class.ts';
import { ApiKeyFileError, readApiKeyFile } from '../server/auth/api-key-file.ts';
import { type ApiKey, ApiKeys } from '../server/auth/api-keys.ts';
import { isLoopback } from '../server/http/hosts.ts';
import { readTls, type TlsContext, TlsFileError } from '../server/http/tls.ts';
import { UsageError } from './usage-error.ts';
import type { Options } from './options.ts';

type AccessOptions = Options<
  'config' | 'host' | 'apiKey' | 'apiKeyFile' | 'adminApiKey' | 'tlsCert' | 'tlsKey'
>;

/** What follows new files. */
export interface AccessUsers {
  /** Keys were taken away. */
  dropRevoked(): void;
  setTls(tls: TlsContext): void;
}

export interface Access {
  readonly keys: ApiKeys;
  /** Null serves in plain text. */
  readonly tls: TlsContext | null;
  /**
   * Reads the files again. A file that can't be used is logged, and the former state stays in
   * force.
   */
  readonly reload: (users: AccessUsers) => Promise<void>;
}

/** @throws UsageError, ApiKeyFileError, TlsFileError */
export async function openAccess(
  options: AccessOptions,
  logger: Logger,
  { classes }: Pick<ServiceClasses, 'classes'> = serviceClasses(),
): Promise<Access> {
  const classNames = classes.map(({ name }) => name);
  // Engine processes inherit the environment, and have no use for these.
  delete process.env['CHAIRLIFT_API_KEY'];
  delete process.env['CHAIRLIFT_ADMIN_API_KEY'];
  const { tlsCert, tlsKey } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new UsageError('--tls-cert and --tls-key go together: give both');
  }
  const keys = new ApiKeys(await readUsers(options, classNames), options.adminApiKey ?? null);
  const tls = await readTlsOf(options);
  if (keys.isOpen && !isLoopback(options.host)) {
    logger.warn(
      `no API key, and ${options.host} can be reached from other machines: anybody there can use ` +
        'this server; give it --api-key or --api-key-file, or --host 127.0.0.1',
    );
  }
  return {
    keys,
    tls,
    reload: async (users) => {
      await replace('API keys', logger, options.apiKeyFile ?? options.config, async () => {
        keys.replace(await readUsers(options, classNames));
        users.dropRevoked();
      });
      await replace('TLS', logger, tlsCert, async () => {
        const renewed = await readTlsOf(options);
        if (renewed !== null) users.setTls(renewed);
      });
    },
  };
}

async function readUsers(
  { apiKey = [], apiKeyFile }: AccessOptions,
  classNames: readonly string[],
): Promise<ApiKey[]> {
  const listed = apiKeyFile === undefined ? [] : await readApiKeyFile(apiKeyFile, classNames);
  return [...apiKey, ...listed];
}

async function readTlsOf({ tlsCert, tlsKey }: AccessOptions): Promise<TlsContext | null> {
  if (tlsCert === undefined || tlsKey === undefined) return null;
  return readTls({ cert: tlsCert, key: tlsKey });
}

/** @param file nothing is done without one */
async function replace(
  what: string,
  logger: Logger,
  file: string | undefined,
  read: () => Promise<void>,
): Promise<void> {
  if (file === undefined) return;
  try {
    await read();
    logger.info({ file }, `${what}: read anew`);
  } catch (error) {
    const isExpected = error instanceof ApiKeyFileError || error instanceof TlsFileError;
    const reason = isExpected ? error.message : String(error);
    logger.error({ file }, `${what}: those before stay in force: ${reason}`);
  }
}
