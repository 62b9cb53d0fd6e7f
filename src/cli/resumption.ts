/** Answers that outlive the server, by its flags. */
import type { Logger } from 'pino';
import { Handover } from '../server/resume/handover.ts';
import type { Resumption } from '../server/resume/movable-answer.ts';
import { ResumeKey } from '../server/resume/resume-key.ts';
import type { Options } from './options.ts';
import { UsageError } from './usage-error.ts';

/** @throws UsageError */
export function openResumption(
  { resumeKey, handoverTo: peers }: Options<'resumeKey' | 'handoverTo'>,
  logger: Logger,
): Resumption | null {
  // Engine processes inherit the environment, and have no use for it.
  delete process.env['CHAIRLIFT_RESUME_KEY'];
  if (resumeKey === undefined) {
    if (peers) throw new UsageError('--handover-to needs --resume-key, the same on all replicas');
    return null;
  }
  const key = new ResumeKey(resumeKey);
  return { key, handover: peers ? new Handover({ key, peers, logger }) : null };
}
