/** Containers as operators run them. */
import { resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { IMAGES } from '../../scripts/container/store.ts';
import { post, stream } from '../support/http-client.ts';
import { until } from '../support/processes.ts';
import { Container, podman } from './support/podman.ts';

const question = { messages: [{ role: 'user', content: 'What is 23 + 45?' }], temperature: 0 };
/** As in deploy/kubernetes and deploy/compose. */
const HARDENED = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges'];

let container: Container | undefined;
const volumes = new Set<string>();
afterEach(() => {
  container?.remove();
  container = undefined;
  for (const volume of volumes) podman('volume', 'rm', '--force', volume);
  volumes.clear();
});

async function expectAnswer({ url }: Container): Promise<void> {
  const answer = await stream(`${url}/v1/chat/completions`, question);
  expect(answer).toMatchObject({ done: true, text: '23 + 45 = 68.' });
}

describe.each(Object.values(IMAGES))('%s', (image) => {
  it('answers a chat, and is healthy while it lives', async () => {
    container = await Container.start(image);
    await expectAnswer(container);
    expect(container.isHealthy()).toBe(true);
    expect((await fetch(`${container.url}/ready`)).status).toBe(200);
    container.signal();
    expect(await container.ended()).toBe(0);
    expect(container.isHealthy()).toBe(false);
  });

  it('is healthy with TLS, and at one address', async () => {
    const tls = resolve('test/support/tls');
    const flags = {
      CHAIRLIFT_HOST: '127.0.0.2',
      CHAIRLIFT_TLS_CERT: '/tls/first-cert.pem',
      CHAIRLIFT_TLS_KEY: '/tls/first-key.pem',
    };
    container = await Container.start(image, [`--volume=${tls}:/tls:ro`], flags);
    expect(container.url).toMatch(/^https:\/\/127\.0\.0\.2:/);
    expect(container.isHealthy()).toBe(true);
  });

  it('writes nothing: read-only, without rights and without a volume', async () => {
    container = await Container.start(image, [...HARDENED, '--read-only-tmpfs=false']);
    await expectAnswer(container);
    expect(container.log()).not.toContain('building the model');
  });

  it('builds what it must into its volume, read-only but for that', async () => {
    const volume = `chairlift-test-${process.pid}`;
    volumes.add(volume);
    const options = [...HARDENED, `--volume=${volume}:/var/cache/chairlift`];
    // Not what is there already built.
    const environment = { CHAIRLIFT_PRECISION: 'int4' };
    container = await Container.start(image, options, environment);
    expect(container.log()).toContain('building the model');
    container.remove();
    container = await Container.start(image, options, environment);
    expect(container.log()).not.toContain('building the model');
    await expectAnswer(container);
  });

  it.each(['12345:0', '12345:54321'])('runs as a user that it does not know, %s', async (user) => {
    container = await Container.start(image, [...HARDENED, `--user=${user}`]);
    await expectAnswer(container);
  });

  it('drains when it is stopped: what runs is finished', async () => {
    container = await Container.start(image, HARDENED);
    const { url } = container;
    let isUnderWay = false;
    const story = { messages: [{ role: 'user', content: 'A story.' }], temperature: 0 };
    const running = stream(
      `${url}/v1/chat/completions`,
      { ...story, max_tokens: 1000, ignore_eos: true },
      () => (isUnderWay = true),
    );
    await until(() => isUnderWay, 'the first piece');
    container.signal();
    await until(
      async () => (await post(`${url}/v1/chat/completions`, question)).status === 503,
      'the drain',
    );
    expect(await running).toMatchObject({ done: true, finishReason: 'length' });
    expect(await container.ended()).toBe(0);
  });
});

it('any user of group 0 may build a model in the image', async () => {
  const environment = { CHAIRLIFT_PRECISION: 'int4' };
  container = await Container.start(IMAGES.debian, ['--user=12345:0'], environment);
  expect(container.log()).toContain('building the model');
});
