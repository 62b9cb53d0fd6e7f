/** Answers that outlive the server, by its flags. */
import type { Logger } from 'pino';
import { socketPathOf } from '../../net/unix-address.ts';
import type { RedisLink } from '../../net/redis-link.ts';
import { Handover } from '../../server/resume/handover.ts';
import type { Resumption } from '../../server/resume/movable-answer.ts';
import {
  Directories,
  type Directory,
  type OwnAddress,
} from '../../server/resume/peers/directory.ts';
import { DnsDirectory } from '../../server/resume/peers/dns-directory.ts';
import { RedisDirectory } from '../../server/resume/peers/redis-directory.ts';
import { MIN_RESUME_KEY, ResumeKey } from '../../server/resume/resume-key.ts';
import { isAnyAddress, outerAddresses } from './addresses.ts';
import type { Options } from '../../settings/options.ts';
import { secretOf } from '../../settings/secret-file.ts';
import { UsageError } from '../../settings/usage-error.ts';

const DNS = 'dns:';

/**
 * @param redis that replicas share; null without --redis
 * @throws UsageError
 */
export async function openResumption(
  options: Options<
    'host' | 'resumeKey' | 'resumeKeyFile' | 'handoverTo' | 'handoverAddress' | 'tlsCert'
  >,
  redis: RedisLink | null,
  logger: Logger,
): Promise<Resumption | null> {
  const { handoverTo: peers, tlsCert } = options;
  const resumeKey = await readResumeKey(options);
  if (resumeKey === undefined) {
    if (peers) throw new UsageError('--handover-to needs --resume-key, the same on all replicas');
    return null;
  }
  const key = new ResumeKey(resumeKey);
  if (peers === undefined) return { key, handover: null };
  if (socketPathOf(options.host) !== null && options.handoverAddress === undefined) {
    throw new UsageError('--handover-to with a unix socket needs --handover-address');
  }
  const scheme = tlsCert === undefined ? 'http' : 'https';
  const directories = peers.map((peer): Directory => {
    if (peer.startsWith(DNS)) {
      return new DnsDirectory(new URL(`${scheme}://${peer.slice(DNS.length)}`));
    }
    if (peer !== 'redis') return new DnsDirectory(new URL(peer));
    if (redis === null) throw new UsageError('--handover-to redis needs --redis');
    return new RedisDirectory(redis, key);
  });
  const directory = new Directories(directories, (err) =>
    logger.warn({ err }, "some replicas can't be found"),
  );
  return { key, handover: new Handover({ key, directory, logger }) };
}

/** @throws UsageError */
export async function readResumeKey({
  resumeKey,
  resumeKeyFile,
}: Options<'resumeKey' | 'resumeKeyFile'>): Promise<string | undefined> {
  const key = await secretOf('resume-key', resumeKey, resumeKeyFile, String);
  if (key === undefined || key.length >= MIN_RESUME_KEY) return key;
  throw new UsageError(`--resume-key-file: expected at least ${MIN_RESUME_KEY} characters`);
}

/** @param url that the server listens on */
export function ownAddress(
  url: string,
  { handoverAddress }: Options<'handoverAddress'>,
): OwnAddress {
  const bound = new URL(url);
  if (handoverAddress !== undefined) return { bound, reached: handoverAddress };
  const [first] = outerAddresses();
  if (!isAnyAddress(bound.hostname) || first === undefined) return { bound, reached: bound };
  return { bound, reached: new URL(`${bound.protocol}//${first}:${bound.port}`) };
}
