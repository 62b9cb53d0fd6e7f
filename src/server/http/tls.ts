/** A certificate and its key from files. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';

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

/** The files can't be read or used. */
export class TlsFileError extends Error {
  override readonly name = 'TlsFileError';
}

/** @throws TlsFileError that names the file */
export async function readTls(files: TlsFiles): Promise<TlsContext> {
  const cert = await read(files.cert);
  const key = await read(files.key);
  const certificate = attempt(`${files.cert} has no certificate in PEM`, () => {
    return new X509Certificate(cert);
  });
  const privateKey = attempt(`${files.key} has no private key in PEM without a passphrase`, () => {
    return createPrivateKey(key);
  });
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new TlsFileError(
      `the key in ${files.key} is not that of the certificate in ${files.cert}`,
    );
  }
  attempt(`${files.cert} and ${files.key} can't be used`, () => createSecureContext({ cert, key }));
  return { cert, key };
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TlsFileError(`can't read a file of TLS: ${reason}`, { cause: error });
  }
}

function attempt<T>(failure: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new TlsFileError(failure, { cause: error });
  }
}
