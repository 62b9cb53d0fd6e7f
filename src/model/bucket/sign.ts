import { AwsV4Signer } from 'aws4fetch';
import type { Credentials } from './credentials.ts';

/** SHA-256 of nothing: what a request without a body says of it. */
const NO_BODY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export interface ToSign {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Headers of a request to S3 without a body, with a signature of version 4.
 * @param datetime such as `20130524T000000Z`; now if left out
 */
export async function signed(
  { method, url, headers }: ToSign,
  { accessKeyId, secretAccessKey, sessionToken }: Credentials,
  region: string,
  datetime?: string,
): Promise<Record<string, string>> {
  const signer = new AwsV4Signer({
    method,
    url: url.href,
    headers: { ...headers, 'x-amz-content-sha256': NO_BODY },
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== null && { sessionToken }),
    service: 's3',
    region,
    ...(datetime !== undefined && { datetime }),
    allHeaders: true,
  });
  return Object.fromEntries((await signer.sign()).headers);
}
