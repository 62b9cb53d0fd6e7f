/** Services that give credentials to a machine, a container or a service account. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { readBounded } from '../../files/read-bounded.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { bareHost } from '../../net/bare-host.ts';
import { type Answer, type Ask, askOnce, readJsonAnswer, readTextAnswer } from '../../net/get.ts';
import { ModelError } from '../model-error.ts';
import type { Credentials } from './credentials.ts';

/** A machine that is none of Amazon's has nobody at these addresses: it must not wait for them. */
const INSTANCE_MS = 1000;
const SERVICE_MS = 10_000;

/** Hosts that containers are told of without TLS: Amazon's own, of ECS and of EKS. */
const CONTAINER_HOSTS: ReadonlySet<string> = new Set([
  '169.254.170.2',
  '169.254.170.23',
  'fd00:ec2::23',
  'localhost',
  '::1',
]);

const text = z.string().min(1).max(16_384);
const givenSchema = z.object({
  AccessKeyId: text,
  SecretAccessKey: text,
  Token: text.optional(),
  Expiration: z.string().max(100).optional(),
});
const assumedSchema = z.object({
  AssumeRoleWithWebIdentityResponse: z.object({
    AssumeRoleWithWebIdentityResult: z.object({
      Credentials: z.object({
        AccessKeyId: text,
        SecretAccessKey: text,
        SessionToken: text,
        Expiration: z.number(),
      }),
    }),
  }),
});

/**
 * Takes on a role with the token of a web identity, as of a Kubernetes service account.
 * @throws {ModelError}; ConnectionError
 */
export async function assumeWithToken(
  { tokenFile, role }: { readonly tokenFile: string; readonly role: string },
  region: string,
  env: NodeJS.ProcessEnv,
): Promise<Credentials> {
  const token = await readSecret(tokenFile);
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: env['AWS_ROLE_SESSION_NAME'] || 'chairlift',
    WebIdentityToken: token,
  }).toString();
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const url = addressOf(env['AWS_ENDPOINT_URL_STS'] || `https://sts.${region}.${domain}`);
  const headers = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': String(Buffer.byteLength(body)),
  };
  const answer = await askOnce(url, { method: 'POST', headers, body, silenceMs: SERVICE_MS });
  const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = assumedSchema.parse(
    await jsonOf(answer, url),
  ).AssumeRoleWithWebIdentityResponse.AssumeRoleWithWebIdentityResult.Credentials;
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: SessionToken,
    // In seconds, as its JSON has times.
    expiresAt: Expiration * 1000,
    from: 'a web identity',
  };
}

/** Credentials of a container of ECS, or of a pod with EKS Pod Identity. @throws {ModelError}; ConnectionError */
export async function fromContainer(env: NodeJS.ProcessEnv): Promise<Credentials> {
  const {
    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: full = '',
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
  } = env;
  const url = addressOf(relative ? `http://169.254.170.2${relative}` : full);
  const host = bareHost(url);
  const isOurs = CONTAINER_HOSTS.has(host) || (isIP(host) === 4 && host.startsWith('127.'));
  if (url.protocol !== 'https:' && !isOurs) {
    throw new ModelError('AWS_CONTAINER_CREDENTIALS_FULL_URI leads to another machine without TLS');
  }
  const authorization = tokenFile ? await readSecret(tokenFile) : token;
  const headers = authorization ? { authorization } : {};
  const answer = await askOnce(url, { headers, silenceMs: SERVICE_MS });
  return given(await jsonOf(answer, url), 'a container');
}

/** Credentials of the role that a machine of EC2 has; null where it has none, or is no such machine. */
export async function fromInstance(env: NodeJS.ProcessEnv): Promise<Credentials | null> {
  if (env['AWS_EC2_METADATA_DISABLED']?.toLowerCase() === 'true') return null;
  try {
    const base = env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] || 'http://169.254.169.254';
    const at = (path: string) => addressOf(`${base.replace(/\/$/, '')}/latest/${path}`);
    const read = async (path: string, ask: Ask): Promise<string> => {
      const answer = await askOnce(at(path), { ...ask, silenceMs: INSTANCE_MS });
      if (answer.status === 200) return readTextAnswer(answer, MODEL_LIMITS.credentialsBytes);
      answer.body.destroy();
      throw new Error(`status ${answer.status}`);
    };
    const lifetime = { 'x-aws-ec2-metadata-token-ttl-seconds': '21600', 'content-length': '0' };
    const token = await read('api/token', { method: 'PUT', headers: lifetime });
    const headers = { 'x-aws-ec2-metadata-token': token };
    const roles = 'meta-data/iam/security-credentials/';
    const [role = ''] = (await read(roles, { headers })).split('\n');
    if (!/^[\w+=,.@-]{1,128}$/.test(role)) return null;
    return given(JSON.parse(await read(`${roles}${role}`, { headers })), "this machine's role");
  } catch {
    return null;
  }
}

function given(json: unknown, from: string): Credentials {
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = givenSchema.parse(json);
  const expiresAt = Expiration === undefined ? Number.NaN : Date.parse(Expiration);
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: Token ?? null,
    expiresAt: Number.isNaN(expiresAt) ? null : expiresAt,
    from,
  };
}

/** @throws {ModelError} for a status that is no success: its text may repeat what was sent */
async function jsonOf(answer: Answer, url: URL): Promise<unknown> {
  if (answer.status === 200) return readJsonAnswer(answer, MODEL_LIMITS.credentialsBytes);
  answer.body.destroy();
  throw new ModelError(`${url.origin} answered ${answer.status} when it was asked for credentials`);
}

/** @throws {ModelError} */
async function readSecret(path: string): Promise<string> {
  try {
    return (await readBounded(path, MODEL_LIMITS.credentialsBytes)).toString().trim();
  } catch (error) {
    throw new ModelError(`the token for credentials, ${path}, cannot be read`, { cause: error });
  }
}

/** @throws {ModelError} */
function addressOf(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return url;
  throw new ModelError('an address that credentials are asked for at is none');
}
