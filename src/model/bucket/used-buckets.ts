/** The object stores that this process uses: as the environment says, but for what settings said since. */
import { type BucketAccess, checkedEndpoint } from './bucket-client.ts';
import { CredentialChain } from './credential-chain.ts';

const GOOGLE = 'https://storage.googleapis.com';

/** Null is the address of the environment. */
let given: { readonly endpoint: string | null; readonly isOffline: boolean } = {
  endpoint: null,
  isOffline: false,
};
let chain: CredentialChain | null = null;

/**
 * How the whole process reaches buckets from now on, with what its environment has now: secrets in it may
 * be forgotten afterwards.
 */
export function useBuckets(access: typeof given): void {
  given = access;
  chain = new CredentialChain({ ...process.env });
}

/** @throws {ModelError} if an address is none */
export function usedBuckets(): BucketAccess {
  chain ??= new CredentialChain(process.env);
  return bucketAccess(process.env, given, chain);
}

/** As AWS's and Google's own tools read it. @throws {ModelError} if an address is none */
export function bucketAccess(
  env: NodeJS.ProcessEnv,
  { endpoint, isOffline } = given,
  credentials = new CredentialChain(env),
): BucketAccess {
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, STORAGE_EMULATOR_HOST } = env;
  const address = endpoint || AWS_ENDPOINT_URL_S3 || AWS_ENDPOINT_URL;
  const google = STORAGE_EMULATOR_HOST || GOOGLE;
  return {
    endpoint: address ? checkedEndpoint(address, '--endpoint-url or AWS_ENDPOINT_URL') : null,
    googleEndpoint: checkedEndpoint(google, 'STORAGE_EMULATOR_HOST'),
    isOffline,
    chain: credentials,
  };
}
