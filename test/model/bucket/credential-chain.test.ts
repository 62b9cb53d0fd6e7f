import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CredentialChain } from '../../../src/model/bucket/credential-chain.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

type Answer = (request: IncomingMessage, body: string) => unknown;

/** A service that answers JSON, text, or a status. */
async function service(answer: Answer) {
  const requests: string[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      requests.push(`${request.method} ${request.url}`);
      const given = answer(request, body);
      if (typeof given === 'number') return response.writeHead(given).end('the-token');
      return response.end(typeof given === 'string' ? given : JSON.stringify(given));
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}`, requests };
}

async function chainOf(env: NodeJS.ProcessEnv) {
  const folder = await temporaryDirectory();
  const token = join(folder, 'token');
  await writeFile(token, 'the-token\n');
  const off = { HOME: folder, AWS_EC2_METADATA_DISABLED: 'true' };
  return {
    token,
    chain: new CredentialChain({ ...off, ...env }),
    with: (more: NodeJS.ProcessEnv) => new CredentialChain({ ...off, ...env, ...more }),
  };
}

const KEYS = { AccessKeyId: 'id', SecretAccessKey: 'secret' };
const later = (ms: number) => new Date(Date.now() + ms).toISOString();

test('the environment goes before all', async () => {
  const { chain } = await chainOf({
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_SESSION_TOKEN: 'token',
    AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://127.0.0.1:9/',
  });
  expect(await chain.credentials()).toMatchObject({ accessKeyId: 'id', sessionToken: 'token' });
});

test('a web identity takes on its role', async () => {
  const sts = await service((request, body) => {
    const form = new URLSearchParams(body);
    const isRight =
      request.method === 'POST' &&
      request.headers.accept === 'application/json' &&
      form.get('Action') === 'AssumeRoleWithWebIdentity' &&
      form.get('RoleArn') === 'arn:aws:iam::1:role/a' &&
      form.get('WebIdentityToken') === 'the-token';
    if (!isRight) return 403;
    const Credentials = { ...KEYS, SessionToken: 'session', Expiration: Date.now() / 1000 + 3600 };
    return {
      AssumeRoleWithWebIdentityResponse: { AssumeRoleWithWebIdentityResult: { Credentials } },
    };
  });
  const begun = await chainOf({ AWS_ENDPOINT_URL_STS: sts.endpoint });
  const env = { AWS_WEB_IDENTITY_TOKEN_FILE: begun.token, AWS_ROLE_ARN: 'arn:aws:iam::1:role/a' };
  const chain = begun.with(env);
  expect(await chain.credentials()).toMatchObject({ accessKeyId: 'id', sessionToken: 'session' });
  await chain.credentials();
  expect(sts.requests).toHaveLength(1);
  const error = await begun
    .with({ ...env, AWS_ROLE_ARN: 'other' })
    .credentials()
    .catch(String);
  expect(error).toMatch(/answered 403 when it was asked for credentials/);
  expect(error).not.toContain('the-token');
});

test('a container asks with its token, and again before the credentials end', async () => {
  let ends = 60_000;
  const agent = await service(({ headers }) =>
    headers.authorization === 'the-token' ? { ...KEYS, Token: 't', Expiration: later(ends) } : 401,
  );
  const begun = await chainOf({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${agent.endpoint}/v1` });
  const chain = begun.with({ AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: begun.token });
  expect(await chain.credentials()).toMatchObject({ secretAccessKey: 'secret', sessionToken: 't' });
  ends = 3_600_000;
  await chain.credentials();
  await chain.credentials();
  expect(agent.requests).toEqual(['GET /v1', 'GET /v1']);
  await expect(begun.chain.credentials()).rejects.toThrow('answered 401');
});

test('no token is sent to another machine without TLS', async () => {
  const { chain } = await chainOf({
    AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://10.1.2.3/credentials',
    AWS_CONTAINER_AUTHORIZATION_TOKEN: 'the-token',
  });
  await expect(chain.credentials()).rejects.toThrow('leads to another machine without TLS');
});

test('a machine has those of its role, by a session', async () => {
  const metadata = await service(({ method, url = '', headers }) => {
    if (url === '/latest/api/token') return method === 'PUT' ? 'session' : 405;
    if (headers['x-aws-ec2-metadata-token'] !== 'session') return 401;
    if (url.endsWith('/security-credentials/')) return 'role-1\n';
    return url.endsWith('/role-1')
      ? { Code: 'Success', ...KEYS, Token: 't', Expiration: later(1e7) }
      : 404;
  });
  const env = { AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.endpoint };
  const { with: chainWith } = await chainOf(env);
  expect(await chainWith({ AWS_EC2_METADATA_DISABLED: 'false' }).credentials()).toMatchObject({
    accessKeyId: 'id',
    sessionToken: 't',
  });
  expect(await chainWith({}).credentials()).toBeNull();
});

test('a machine without a role has none', async () => {
  const metadata = await service(() => 404);
  const env = {
    AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.endpoint,
    AWS_EC2_METADATA_DISABLED: '',
  };
  const { chain } = await chainOf(env);
  expect(await chain.credentials()).toBeNull();
});

test.each([{}, { AccessKeyId: 'id' }, 'no JSON', { ...KEYS, AccessKeyId: 'x'.repeat(2 ** 21) }])(
  'an answer that makes no sense is an error in a line (%#)',
  async (answer) => {
    const agent = await service(() => answer);
    const { chain } = await chainOf({ AWS_CONTAINER_CREDENTIALS_FULL_URI: agent.endpoint });
    await expect(chain.credentials()).rejects.toThrow(
      'no credentials of AWS_CONTAINER_CREDENTIALS_*_URI: its answer has none',
    );
  },
);
