import { describe, expect, test } from 'vitest';
import { errorOf, post } from '../support/client.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();
const config = { apiKeys: ['first-key', 'second-key'] };

describe('with API keys', () => {
  test.each([
    {},
    { authorization: 'Bearer wrong' },
    { authorization: 'Bearer first-key-and-more' },
    { authorization: 'Bearer ' },
    { authorization: 'Basic first-key' },
    { 'x-api-key': 'wrong' },
  ])('refuses %j', async (headers) => {
    const response = await post(
      await server({ config }),
      '/v1/completions',
      { prompt: 'Hi' },
      { headers },
    );
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    const error = await errorOf(response, 401);
    expect(error).toMatchObject({ type: 'authentication_error', code: 'invalid_api_key' });
  });

  test.each([
    { authorization: 'Bearer first-key' },
    { authorization: 'bearer second-key' },
    { 'x-api-key': 'second-key' },
  ])('takes %j', async (headers) => {
    const target = await server({ config });
    const response = await post(target, '/v1/completions', { prompt: 'Hi' }, { headers });
    expect(response.status).toBe(200);
  });

  test.each(['/v1/models', '/tokenize', '/unknown'])('guards %s', async (path) => {
    const { url } = await server({ config });
    expect((await fetch(`${url}${path}`)).status).toBe(401);
  });

  test.each(['/health', '/ready', '/livez', '/readyz', '/version', '/metrics'])(
    'leaves %s open',
    async (path) => {
      const { url } = await server({ config });
      expect((await fetch(`${url}${path}`)).status).toBe(200);
    },
  );
});
