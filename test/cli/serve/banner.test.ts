import { expect, test } from 'vitest';
import { hostsToReach } from '../../../src/serving/server/addresses.ts';
import { type Places, repositoryBanner } from '../../../src/cli/serve/banner.ts';

const PLACES: Places = {
  url: 'http://127.0.0.1:8000',
  grpcAddress: null,
  metricsUrl: null,
  hasPage: true,
};

const FACTS = {
  places: PLACES,
  version: '1.2.3',
  models: [{ name: 'm', version: '1', state: 'ready', reason: null, memoryBytes: 0 }],
  control: 'none',
  needsKey: false,
} as const;

test.each([
  [['completions', 'chat'], 'curl -N http://127.0.0.1:8000/v1/chat/completions '],
  // Kinds by the files of a model that is not loaded.
  [['completions'], 'curl -N http://127.0.0.1:8000/v1/chat/completions '],
  [null, 'curl -N http://127.0.0.1:8000/v1/chat/completions '],
  [['embeddings'], 'curl -N http://127.0.0.1:8000/v1/embeddings '],
  [['rerank', 'score'], 'curl -N http://127.0.0.1:8000/v1/rerank '],
  [['infer'], 'curl http://127.0.0.1:8000/v2/models/m'],
  [['transcription'], 'curl http://127.0.0.1:8000/v1/audio/transcriptions -F model=m -F file=@'],
])('the call of a server whose first model can do %j', (capabilities, call) => {
  const banner = repositoryBanner({ ...FACTS, capabilities });
  expect(banner).toContain(call);
  const [, body = '{"model": "m"}'] = /-d '(.*)'/.exec(banner) ?? [];
  expect(JSON.parse(body)).toMatchObject({ model: 'm' });
  expect(repositoryBanner({ ...FACTS, capabilities, needsKey: true })).toContain(
    ` -H 'authorization: Bearer KEY'`,
  );
});

const rowsOf = (places: Partial<Places>) => {
  const facts = { ...FACTS, places: { ...PLACES, ...places }, models: [], capabilities: null };
  const lines = repositoryBanner(facts).split('\n');
  return lines.map((line) => line.trim()).filter((line) => line !== '');
};

test('the banner names the page, the documentation and the metrics', () => {
  const rows = rowsOf({});
  expect(rows).toContain('Chairlift  1.2.3 at http://127.0.0.1:8000');
  expect(rows).toContain('chat       http://127.0.0.1:8000/');
  expect(rows).toContain('docs       http://127.0.0.1:8000/docs');
  expect(rows).toContain('metrics    http://127.0.0.1:8000/metrics');
});

test('without a page it names none, and metrics where they are', () => {
  const rows = rowsOf({ hasPage: false, metricsUrl: 'http://127.0.0.1:9100/metrics' });
  expect(rows.join('\n')).not.toContain('chat  ');
  expect(rows).toContain('metrics    http://127.0.0.1:9100/metrics');
});

test('a server on a unix socket is called by its path', () => {
  const socket = { url: 'unix:/run/c.sock' };
  const rows = rowsOf(socket);
  expect(rows).toContain('Chairlift  1.2.3 at unix:/run/c.sock');
  const text = rows.join('\n');
  expect(text).toContain('curl -N --unix-socket /run/c.sock http://localhost/v1/chat/completions ');
  expect(text).not.toMatch(/chat  |docs  |metrics  |undefined/);
  expect(rowsOf({ ...socket, metricsUrl: 'http://127.0.0.1:9100/metrics' })).toContain(
    'metrics    http://127.0.0.1:9100/metrics',
  );
});

test('a server on all addresses is named by addresses that can be typed', () => {
  const everywhere = { url: 'https://0.0.0.0:8443', metricsUrl: 'http://0.0.0.0:9100/metrics' };
  const text = rowsOf({ ...everywhere, grpcAddress: '0.0.0.0:8001' }).join('\n');
  expect(text).not.toContain('0.0.0.0');
  expect(text).toContain('Chairlift  1.2.3 at https://127.0.0.1:8443\n');
  expect(text).toContain('gRPC at 127.0.0.1:8001');
  expect(text).toContain('curl -N https://127.0.0.1:8443/v1/');
});

test.each([
  ['0.0.0.0', ['127.0.0.1', '192.168.1.5', '10.0.0.2']],
  ['[::]', ['127.0.0.1', '192.168.1.5', '10.0.0.2']],
  ['127.0.0.1', ['127.0.0.1']],
  ['[::1]', ['[::1]']],
  ['llm.example', ['llm.example']],
])('a server that listens on %s is reached at %j', (host, hosts) => {
  expect(hostsToReach(host, () => ['192.168.1.5', '10.0.0.2'])).toEqual(hosts);
});
