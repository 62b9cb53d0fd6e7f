/** Signatures of Amazon's documentation: "Examples: Signature Calculations in AWS Signature Version 4". */
import { expect, test } from 'vitest';
import { signed } from '../../../src/model/bucket/sign.ts';

const CREDENTIALS = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: null,
  expiresAt: null,
  from: 'the documentation',
};

test.each([
  [
    'an object, in part',
    '/test.txt',
    { range: 'bytes=0-9' },
    'host;range;x-amz-content-sha256;x-amz-date',
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'a parameter without a value',
    '/?lifecycle',
    {},
    'host;x-amz-content-sha256;x-amz-date',
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'a list',
    '/?max-keys=2&prefix=J',
    {},
    'host;x-amz-content-sha256;x-amz-date',
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
])('%s', async (_, path, headers, names, signature) => {
  const url = new URL(`https://examplebucket.s3.amazonaws.com${path}`);
  const request = { method: 'GET', url, headers };
  const all = await signed(request, CREDENTIALS, 'us-east-1', '20130524T000000Z');
  expect(all['authorization']).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
      `SignedHeaders=${names}, Signature=${signature}`,
  );
});
