/** Server configuration from flags. */
import { DEFAULT_SERVER_CONFIG, type ServerConfig } from '../../server/config.ts';
import type { Options } from '../../settings/options.ts';

type ChangingOptions = Options<'requestTimeout' | 'priorityRange'>;

type ConfigOptions = ChangingOptions &
  Options<
    | 'host'
    | 'rootPath'
    | 'allowedHost'
    | 'corsOrigin'
    | 'maxBody'
    | 'sharePrefixCache'
    | 'drainStatus'
    | 'logPrompts'
  >;

export function serverConfig(options: ConfigOptions, version: string): ServerConfig {
  return {
    ...DEFAULT_SERVER_CONFIG,
    host: options.host,
    rootPath: options.rootPath,
    allowedHosts: options.allowedHost ?? [],
    isInCluster: process.env['KUBERNETES_SERVICE_HOST'] !== undefined,
    corsOrigins: options.corsOrigin ?? [],
    maxBodyBytes: options.maxBody,
    ...changingConfig(options),
    sharePrefixCache: options.sharePrefixCache,
    drainStatus: options.drainStatus,
    logPrompts: options.logPrompts,
    version,
  };
}

/** Settings that follow the configuration file. */
export function changingConfig({ requestTimeout, priorityRange }: ChangingOptions) {
  return {
    requestTimeoutMs: requestTimeout ? requestTimeout * 1000 : null,
    priorities: priorityRange,
  };
}
