/** A certificate and its key from files. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { UserError } from '../../user-error.ts';
import { readNamed } from '../../files/named-files.ts';

export interface TlsFiles {
  /** PEM: the server's certificate, followed by those that lead from it to one that clients know. */
  readonly cert: string;
  /** PEM, without a passphrase. */
  readonly key: string;
}

/** As `https.createServer` and `setSecureContext` take them. */
export interface TlsContext {
  readonly cert: string;
  readonly key: string;
}

/** @throws UserError that names the file */
export async function readTls(files: TlsFiles): Promise<TlsContext> {
  const cert = await readNamed('--tls-cert', files.cert);
  const key = await readNamed('--tls-key', files.key);
  const certificate = attempt(`${files.cert} has no certificate in PEM`, () => {
    return new X509Certificate(cert);
  });
  const privateKey = attempt(`${files.key} has no private key in PEM without a passphrase`, () => {
    return createPrivateKey(key);
  });
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new UserError(
      `the key in ${files.key} does not belong to the certificate in ${files.cert}`,
    );
  }
  attempt(`${files.cert} and ${files.key} can't be used`, () => createSecureContext({ cert, key }));
  return { cert, key };
}

function attempt<T>(failure: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UserError(failure, { cause: error });
  }
}
