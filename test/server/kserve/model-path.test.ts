import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decodeModelPath,
  joinModelPath,
  splitModelPath,
} from '../../../src/server/kserve/model-path.ts';
import { MODEL, useServers } from '../support/test-server.ts';

const ACTIONS = ['', 'ready', 'stats', 'infer'];

const part = fc.constantFrom('a', 'versions', 'ready', 'infer', '1', '', 'v%2F', 'b.c');
const anyPath = fc
  .array(part, { minLength: 1, maxLength: 12 })
  .map((parts) => parts.join('/'))
  .filter((path) => path !== '');

test('a path that was split and joined is the path, whatever it is', () => {
  fc.assert(
    fc.property(anyPath, (path) => {
      const split = splitModelPath(path, ACTIONS);
      expect(split.model).not.toBe('');
      expect(split.version).not.toContain('/');
      expect(ACTIONS).toContain(split.action);
      expect(joinModelPath(split)).toBe(path);
    }),
    { numRuns: 2000 },
  );
});

test('names, versions and actions that were joined are found again', () => {
  const whole = fc.record({
    model: anyPath,
    version: fc.stringMatching(/^[\w.]+$/),
    action: fc.constantFrom('ready', 'infer'),
  });
  fc.assert(
    fc.property(whole, (target) => {
      expect(splitModelPath(joinModelPath(target), ACTIONS)).toEqual(target);
    }),
    { numRuns: 2000 },
  );
});

/** Patterns that the router had before, tried in this order. */
const PATTERNS = [
  /^(?<model>.+)\/versions\/(?<version>[^/]+)\/(?<action>ready|stats|infer)$/,
  /^(?<model>.+)\/(?<action>ready|stats|infer)$/,
  /^(?<model>.+)\/versions\/(?<version>[^/]+)$/,
  /^(?<model>.+)$/,
];

test('it finds what patterns find', () => {
  fc.assert(
    fc.property(anyPath, (path) => {
      const groups = PATTERNS.map((pattern) => pattern.exec(path)?.groups).find(Boolean);
      expect(splitModelPath(path, ACTIONS)).toEqual({ version: '', action: '', ...groups });
    }),
    { numRuns: 2000 },
  );
});

test('slashes that are encoded belong to the name', () => {
  const split = decodeModelPath(
    splitModelPath('owner%2Fname%2Fready/versions/1%20/ready', ACTIONS),
  );
  expect(split).toEqual({ model: 'owner/name/ready', version: '1 ', action: 'ready' });
});

const server = useServers();

test('what is no route of a model is told apart', async () => {
  const { url } = await server();
  const statusOf = async (method: string, path: string) => {
    const response = await fetch(url + path, { method });
    await response.text();
    return [response.status, response.headers.get('allow')];
  };
  expect(await statusOf('GET', `/v2/models/${MODEL}`)).toEqual([200, null]);
  expect(await statusOf('HEAD', `/v2/models/${MODEL}/ready`)).toEqual([200, null]);
  expect(await statusOf('GET', '/v2/models/')).toEqual([404, null]);
  expect(await statusOf('GET', '/v2/models')).toEqual([404, null]);
  expect(await statusOf('POST', `/v2/models/${MODEL}/ready`)).toEqual([405, 'GET, HEAD']);
  expect(await statusOf('DELETE', `/v2/models/${MODEL}/infer`)).toEqual([405, 'GET, HEAD, POST']);
  expect(await statusOf('POST', `/v2/repository/models/${MODEL}/gone`)).toEqual([404, null]);
  expect(await statusOf('POST', '/v2/repository/models')).toEqual([404, null]);
  // Named in metrics by its pattern, of which there are few.
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('/v2/models/:model/ready"');
});
