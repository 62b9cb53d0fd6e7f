/** Secrets in files, as Kubernetes and Docker mount them. */
import { readBounded } from '../files/read-bounded.ts';
import { meaningOf } from '../files/system-error.ts';
import { UserError } from '../user-error.ts';
import { UsageError } from './usage-error.ts';

/** Far more than any key has. */
const MAX_BYTES = 4096;

/**
 * The secret of a flag, or of its file.
 * @param flag its name, such as `resume-key`, whose file is --resume-key-file
 * @param keep what is made of the file's text, of which nothing else stays
 * @returns undefined where neither is given
 * @throws UsageError when both are given, UserError when the file holds no secret
 */
export async function secretOf<T>(
  flag: string,
  value: T | undefined,
  file: string | undefined,
  keep: (text: string) => T,
): Promise<T | undefined> {
  if (file === undefined) return value;
  if (value === undefined) return keep(await readSecretFile(flag, file));
  throw new UsageError(`--${flag} and --${flag}-file: give one of them`);
}

/**
 * A secret without the line break at its end.
 * @throws UserError when the file holds none
 */
export async function readSecretFile(flag: string, file: string): Promise<string> {
  const wrong = (what: string, cause?: unknown) =>
    new UserError(`--${flag}-file ${file}: ${what}`, { cause });
  const bytes = await readBounded(file, MAX_BYTES).catch((error: unknown) => {
    throw wrong(meaningOf(error), error);
  });
  const secret = bytes.toString('utf8').replace(/\r?\n$/, '');
  if (secret.trim() === '') throw wrong('it is empty');
  if (/[\r\n\0]/.test(secret)) throw wrong('expected one line');
  return secret;
}
