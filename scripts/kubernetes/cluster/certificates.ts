/** Certificates that parts of the cluster show each other. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/**
 * Makes one that nobody but itself has signed.
 * @param name its common name, which is also that of its files
 * @param extensions as openssl's `-addext` takes them
 */
export function selfSigned(
  folder: string,
  name: string,
  extensions: readonly string[],
): Certificate {
  const made = { certificate: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
  const files = ['-out', made.certificate, '-keyout', made.key];
  const options = ['-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`];
  const added = extensions.flatMap((extension) => ['-addext', extension]);
  execFileSync('openssl', ['req', '-x509', ...options, ...added, ...files], { stdio: 'pipe' });
  return made;
}
