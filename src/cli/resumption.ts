/** Answers that outlive the server, by its flags. */
import { networkInterfaces } from 'node:os';
import type { Logger } from 'pino';
import type { RedisLink } from '../net/redis-link.ts';
import { Handover } from '../server/resume/handover.ts';
import type { Resumption } from '../server/resume/movable-answer.ts';
import { Directories, type Directory, type OwnAddress } from '../server/resume/peers/directory.ts';
import { DnsDirectory } from '../server/resume/peers/dns-directory.ts';
import { RedisDirectory } from '../server/resume/peers/redis-directory.ts';
import { ResumeKey } from '../server/resume/resume-key.ts';
import type { Options } from './options.ts';
import { UsageError } from './usage-error.ts';

const DNS = 'dns:';

/**
 * @param redis that replicas share; null without --redis
 * @throws UsageError
 */
export function openResumption(
  { resumeKey, handoverTo: peers, tlsCert }: Options<'resumeKey' | 'handoverTo' | 'tlsCert'>,
  redis: RedisLink | null,
  logger: Logger,
): Resumption | null {
  // Engine processes inherit the environment, and have no use for it.
  delete process.env['CHAIRLIFT_RESUME_KEY'];
  if (resumeKey === undefined) {
    if (peers) throw new UsageError('--handover-to needs --resume-key, the same on all replicas');
    return null;
  }
  const key = new ResumeKey(resumeKey);
  if (peers === undefined) return { key, handover: null };
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

/** @param url that the server listens on */
export function ownAddress(
  url: string,
  { handoverAddress }: Options<'handoverAddress'>,
): OwnAddress {
  const bound = new URL(url);
  if (handoverAddress !== undefined) return { bound, reached: handoverAddress };
  const isAny = bound.hostname === '0.0.0.0' || bound.hostname === '[::]';
  const first = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4');
  if (!isAny || first === undefined) return { bound, reached: bound };
  return { bound, reached: new URL(`${bound.protocol}//${first.address}:${bound.port}`) };
}
