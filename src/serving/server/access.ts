/** Access by flags and files: API keys and TLS. */
import type { Logger } from 'pino';
import { serviceClasses, type ServiceClasses } from '../../front/service-classes/service-class.ts';
import { readApiKeyFile } from '../../server/auth/api-key-file.ts';
import { type ApiKey, ApiKeys, digestOf } from '../../server/auth/api-keys.ts';
import { isOfMachine } from '../../server/http/hosts.ts';
import { readTls, type TlsContext } from '../../server/http/tls.ts';
import { socketPathOf } from '../../net/unix-address.ts';
import { reasonOf } from '../../files/system-error.ts';
import { secretOf } from '../../settings/secret-file.ts';
import { UsageError } from '../../settings/usage-error.ts';
import type { Options } from '../../settings/options.ts';

type AccessOptions = Options<
  | 'config'
  | 'host'
  | 'apiKey'
  | 'apiKeyFile'
  | 'adminApiKey'
  | 'adminApiKeyFile'
  | 'tlsCert'
  | 'tlsKey'
>;

/** Users of keys and certificates, which are updated when the files are read again. */
export interface AccessUsers {
  /** The configuration file was read again, and was valid. */
  readonly isConfigured: boolean;
  /** Keys were taken away, or came back. */
  onKeys(): void;
  setTls(tls: TlsContext): void;
}

export interface Access {
  readonly keys: ApiKeys;
  /** Null serves in plain text. */
  readonly tls: TlsContext | null;
  /**
   * Reads the files again. An invalid file is logged, and what was in use stays.
   */
  readonly reload: (users: AccessUsers) => Promise<void>;
}

/** @throws UserError */
export async function openAccess(
  options: AccessOptions,
  logger: Logger,
  { classes }: Pick<ServiceClasses, 'classes'> = serviceClasses(),
): Promise<Access> {
  const classNames = classes.map(({ name }) => name);
  const { tlsCert, tlsKey } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new UsageError('--tls-cert and --tls-key go together: give both');
  }
  if (tlsCert !== undefined && socketPathOf(options.host) !== null) {
    throw new UsageError('--tls-cert is not for unix sockets, which never leave this machine');
  }
  const { adminApiKey, adminApiKeyFile } = options;
  const admin = await secretOf('admin-api-key', adminApiKey, adminApiKeyFile, digestOf);
  const keys = new ApiKeys(await readUsers(options, classNames), admin ?? null);
  const tls = await readTlsOf(options);
  if (keys.isOpen && !isOfMachine(options.host)) {
    logger.warn(
      `no API key, and ${options.host} can be reached from other machines: anybody there can use ` +
        'this server; give it --api-key or --api-key-file, or --host 127.0.0.1',
    );
  }
  return {
    keys,
    tls,
    reload: async (users) => {
      const configFile = users.isConfigured ? options.config : undefined;
      await replace('API keys', logger, options.apiKeyFile ?? configFile, async () => {
        keys.replace(await readUsers(options, classNames));
        users.onKeys();
      });
      await replace('TLS certificate', logger, tlsCert, async () => {
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
    logger.info({ file }, `${what} reloaded`);
  } catch (error) {
    logger.error({ file }, `${what} not reloaded, what was in use stays: ${reasonOf(error)}`);
  }
}
