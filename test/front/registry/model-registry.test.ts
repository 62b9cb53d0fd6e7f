import type { Lease } from '../../../src/front/registry/lease.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Caller } from '../../../src/front/caller.ts';
import { QueueFullError } from '../../../src/front/queue/admission.ts';
import {
  ModelControlError,
  ModelUnavailableError,
  UnknownModelError,
} from '../../../src/front/registry/errors.ts';
import { ModelRegistry, type RegistryOptions } from '../../../src/front/registry/model-registry.ts';
import type { RegistryEvent } from '../../../src/front/registry/residency.ts';
import { modelDefinition, FakeLoader, type FakeRuntime } from './fake-loader.ts';

const anybody: Caller = { client: '', signal: new AbortController().signal };
const turn = () => new Promise(setImmediate);

function setUp(options: Partial<RegistryOptions<FakeRuntime>> = {}) {
  const loader = new FakeLoader();
  const events: RegistryEvent[] = [];
  const registry = new ModelRegistry<FakeRuntime>({
    loader,
    control: 'auto',
    maxModels: 4,
    maxBytes: 1000,
    keepAliveMs: Infinity,
    maxWaiting: 10,
    onEvent: (event) => events.push(event),
    ...options,
  });
  const stateOf = (key: string) =>
    registry.list().find(({ name, version }) => `${name}@${version}` === key)?.state;
  return { loader, registry, events, stateOf };
}

describe.each(['none', 'poll'] as const)('%s', (control) => {
  test('loads and unloads nothing by command, and nothing goes by itself', async () => {
    const { loader, registry } = setUp({ control, keepAliveMs: 0 });
    await registry.update([modelDefinition('a', {}, { keepAliveMs: 0 })], new Map());
    await registry.preload();
    const lease = await registry.acquire('a', anybody);
    registry.keepAlive('a', 0);
    lease.release();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(loader.inMemory).toEqual(['a@1']);
    for (const act of [registry.load('a'), registry.unload('a')]) {
      await expect(act).rejects.toThrow(ModelControlError);
    }
    await expect(registry.add(modelDefinition('b'))).rejects.toThrow(`--model-control ${control}`);
    expect(loader.inMemory).toEqual(['a@1']);
  });
});

test('what was added stays when the repository is read again', async () => {
  const { loader, registry } = setUp();
  await registry.update([modelDefinition('a')], new Map());
  await registry.add(modelDefinition('b'));
  await registry.update([modelDefinition('c')], new Map());
  expect(registry.list().map(({ name }) => name)).toEqual(['b', 'c']);
  await registry.load('b');
  await registry.add(modelDefinition('b'));
  expect(loader.inMemory).toEqual(['b@1']);
});

test('a model that is loaded tells when it goes', async () => {
  const { registry } = setUp({ keepAliveMs: 60_000 });
  await registry.update([modelDefinition('a'), modelDefinition('b')], new Map());
  const [a = { name: '', version: '' }, b = a] = registry.list();
  await registry.load('a');
  await registry.load('b');
  registry.keepAlive('b', Infinity);
  expect(registry.idleMsLeft(a)).toBeGreaterThan(30_000);
  expect(registry.idleMsLeft(a)).toBeLessThanOrEqual(60_000);
  expect(registry.idleMsLeft(b)).toBe(Infinity);
});

describe('auto', () => {
  test('loads a model for the first request that names it, once for all that wait', async () => {
    const { loader, registry, stateOf } = setUp();
    loader.isHolding = true;
    await registry.update([modelDefinition('a'), modelDefinition('b')], new Map());
    expect(stateOf('a@1')).toBe('unloaded');
    const leases = [registry.acquire('a', anybody), registry.acquire('a', anybody)];
    await loader.settle('a@1');
    const [first, second] = await Promise.all(leases);
    expect(first?.runtime).toBe(second?.runtime);
    expect(loader.inMemory).toEqual(['a@1']);
    expect([stateOf('a@1'), stateOf('b@1')]).toEqual(['ready', 'unloaded']);
  });

  test('evicts the model that has been idle for longest, and no busy one', async () => {
    const { loader, registry } = setUp({ maxModels: 2 });
    await registry.update(
      ['a', 'b', 'c', 'd'].map((name) => modelDefinition(name)),
      new Map(),
    );
    const a = await registry.acquire('a', anybody);
    (await registry.acquire('b', anybody)).release();
    (await registry.acquire('c', anybody)).release();
    expect(loader.inMemory).toEqual(['a@1', 'c@1']);
    a.release();
    (await registry.acquire('c', anybody)).release();
    await registry.use('d', anybody, () => Promise.resolve());
    expect(loader.inMemory).toEqual(['c@1', 'd@1']);
  });

  test('a request waits until a busy model is idle, and nobody waits for one that left', async () => {
    const { loader, registry } = setUp({ maxModels: 1 });
    await registry.update([modelDefinition('a'), modelDefinition('b')], new Map());
    const a = await registry.acquire('a', anybody);
    const leaver = new AbortController();
    const left = registry.acquire('b', { client: '', signal: leaver.signal });
    await turn();
    leaver.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    a.release();
    await turn();
    expect(loader.inMemory).toEqual(['a@1']);
    const busy = await registry.acquire('a', anybody);
    const waiting = registry.acquire('b', anybody);
    await turn();
    expect(loader.inMemory).toEqual(['a@1']);
    busy.release();
    expect((await waiting).runtime.definition.name).toBe('b');
    expect(loader.inMemory).toEqual(['b@1']);
  });

  test('bounds how many requests wait for a model', async () => {
    const { loader, registry } = setUp({ maxWaiting: 1 });
    loader.isHolding = true;
    await registry.update([modelDefinition('a')], new Map());
    const first = registry.acquire('a', anybody);
    await expect(registry.acquire('a', anybody)).rejects.toThrow(QueueFullError);
    await loader.settle('a@1');
    expect((await first).runtime.definition.name).toBe('a');
  });

  test('tells all who wait why a model cannot be loaded, and tries again later', async () => {
    const { loader, registry, stateOf } = setUp();
    loader.isHolding = true;
    await registry.update([modelDefinition('a')], new Map());
    const waiting = [registry.acquire('a', anybody), registry.acquire('a', anybody)];
    await loader.settle('a@1', 'a file is damaged');
    for (const request of waiting) {
      await expect(request).rejects.toThrow("Model `a` can't be loaded: a file is damaged");
    }
    expect(stateOf('a@1')).toBe('failed');
    await expect(registry.acquire('a', anybody)).rejects.toThrow(ModelUnavailableError);
  });

  test('the reason names files without the folders that they are in', async () => {
    const { registry } = setUp();
    const failure =
      '/srv/my models/a/model.safetensors is damaged (see /var/log/chairlift/a.log and https://example.com/a/b)';
    const a = modelDefinition('a', { failure }, { source: '/srv/my models/a' });
    await registry.update([a], new Map());
    await expect(registry.acquire('a', anybody)).rejects.toThrow(
      "Model `a` can't be loaded: model.safetensors is damaged (see a.log and https://example.com/a/b)",
    );
    expect(registry.list()[0]?.reason).not.toContain('/srv');
  });

  test('without a name a request gets the first model that is loaded, or else the first', async () => {
    const { registry } = setUp();
    await registry.update([modelDefinition('b'), modelDefinition('a')], new Map());
    expect(registry.find(null).name).toBe('b');
    (await registry.acquire('a', anybody)).release();
    expect(registry.find(null).name).toBe('a');
    (await registry.acquire('b', anybody)).release();
    expect(registry.find(null).name).toBe('b');
  });

  test('refuses a model that is larger than all may be, before it is loaded', async () => {
    const { loader, registry } = setUp({ maxBytes: 5 * 2 ** 20 });
    await registry.update([modelDefinition('a', { bytes: 8 * 2 ** 20 })], new Map());
    await expect(registry.acquire('a', anybody)).rejects.toThrow(
      'it takes 8 MiB, and all models together may take 5 MiB (--models-memory)',
    );
    expect(loader.runtimes).toEqual([]);
  });

  test('an idle model goes after its time, unless a request comes', async () => {
    const { loader, registry } = setUp({ keepAliveMs: 20 });
    await registry.update(
      [modelDefinition('a'), modelDefinition('b', {}, { keepAliveMs: Infinity })],
      new Map(),
    );
    const a = await registry.acquire('a', anybody);
    (await registry.acquire('b', anybody)).release();
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(loader.inMemory).toEqual(['a@1', 'b@1']);
    a.release();
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(loader.inMemory).toEqual(['b@1']);
    registry.keepAlive('b', 0);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(loader.inMemory).toEqual([]);
  });
});

describe('control', () => {
  test('none loads all at start, and broken ones do not stop the others', async () => {
    const { loader, registry, stateOf, events } = setUp({ control: 'none' });
    await registry.update(
      [modelDefinition('a', { failure: 'broken' }), modelDefinition('b')],
      new Map(),
    );
    await registry.preload();
    expect(loader.inMemory).toEqual(['b@1']);
    expect(stateOf('a@1')).toBe('failed');
    expect(events.map(({ type }) => type).toSorted()).toEqual(['failed', 'loaded']);
  });

  test('explicit loads what it is told to', async () => {
    const { loader, registry } = setUp({ control: 'explicit' });
    await registry.update(
      [modelDefinition('a', {}, { preload: true }), modelDefinition('b')],
      new Map(),
    );
    await registry.preload();
    await expect(registry.acquire('b', anybody)).rejects.toThrow('Model `b` is not loaded.');
    await registry.load('b');
    expect(loader.inMemory).toEqual(['a@1', 'b@1']);
    await registry.unload('a');
    expect(loader.inMemory).toEqual(['b@1']);
  });

  test('unloading waits for the requests that use the model, and takes no new ones', async () => {
    const { loader, registry, stateOf } = setUp({ control: 'explicit' });
    await registry.update([modelDefinition('a')], new Map());
    await registry.load('a');
    const lease = await registry.acquire('a', anybody);
    const unloaded = registry.unload('a');
    await turn();
    expect(stateOf('a@1')).toBe('draining');
    expect(lease.runtime.isStopped).toBe(false);
    await expect(registry.acquire('a', anybody)).rejects.toThrow('not loaded');
    lease.release();
    await unloaded;
    expect(loader.inMemory).toEqual([]);
  });
});

describe('sleep', () => {
  test.each(['none', 'auto'] as const)(
    'with %s all that is loaded goes once its requests have ended, and comes back',
    async (control) => {
      const { loader, registry } = setUp({ control });
      await registry.update(
        ['a', 'b'].map((name) => modelDefinition(name)),
        new Map(),
      );
      await registry.preload();
      const lease = await registry.acquire('a', anybody);
      const others = loader.inMemory;
      let isOut = false;
      const sleeping = registry.sleep.begin().then(() => (isOut = true));
      await turn();
      expect(isOut).toBe(false);
      expect(loader.inMemory).toEqual(['a@1']);
      await expect(registry.acquire('a', anybody)).rejects.toMatchObject({
        code: 'server_sleeping',
      });
      lease.release();
      await sleeping;
      await registry.sleep.begin();
      expect(loader.inMemory).toEqual([]);
      expect(registry.sleep.isAsleep).toBe(true);
      await registry.sleep.end();
      expect(loader.inMemory).toEqual(others);
      expect(registry.sleep.isAsleep).toBe(false);
      (await registry.acquire('a', anybody)).release();
    },
  );

  test('what is being loaded goes too, and an operator loads nothing meanwhile', async () => {
    const { loader, registry } = setUp({ control: 'explicit' });
    await registry.update([modelDefinition('a')], new Map());
    loader.isHolding = true;
    const loading = registry.load('a');
    const sleeping = registry.sleep.begin();
    await loader.settle('a@1');
    await Promise.all([loading, sleeping]);
    expect(loader.inMemory).toEqual([]);
    await expect(registry.load('a')).rejects.toMatchObject({ code: 'server_sleeping' });
  });

  test('a server that is woken before it sleeps keeps what comes', async () => {
    const { loader, registry } = setUp({ control: 'explicit' });
    await registry.update([modelDefinition('a')], new Map());
    loader.isHolding = true;
    const loading = registry.load('a');
    const sleeping = registry.sleep.begin();
    const waking = registry.sleep.end();
    await loader.settle('a@1');
    await Promise.all([loading, sleeping, waking]);
    expect(loader.inMemory).toEqual(['a@1']);
    expect(loader.runtimes).toHaveLength(1);
  });

  test('tells which model does not come back', async () => {
    const { registry } = setUp({ control: 'none' });
    await registry.update([modelDefinition('a')], new Map());
    await registry.preload();
    await registry.sleep.begin();
    await registry.update([modelDefinition('a', { failure: 'it is gone' })], new Map());
    await expect(registry.sleep.end()).rejects.toMatchObject({ code: 'model_load_failed' });
    await registry.sleep.begin();
    await registry.sleep.end();
  });
});

describe('versions', () => {
  const versions = (...numbers: string[]) =>
    numbers.map((version) => modelDefinition('a', {}, { version }));

  test('the newest is served, any by its number', async () => {
    const { registry } = setUp();
    await registry.update([...versions('9', '10'), modelDefinition('b')], new Map());
    expect((await registry.acquire('a', anybody)).definition.version).toBe('10');
    expect((await registry.acquire('a@9', anybody)).definition.version).toBe('9');
    await expect(registry.acquire('a@11', anybody)).rejects.toThrow(UnknownModelError);
  });

  test('the old one serves until a new one is ready, then ends after its requests', async () => {
    const { loader, registry } = setUp({ maxModels: 1 });
    await registry.update(versions('1'), new Map());
    const old = await registry.acquire('a', anybody);
    loader.isHolding = true;
    const updated = registry.update(versions('2'), new Map());
    await turn();
    const during = await registry.acquire('a', anybody);
    expect(during.definition.version).toBe('1');
    await loader.settle('a@2');
    await turn();
    expect((await registry.acquire('a', anybody)).definition.version).toBe('2');
    expect(old.runtime.isStopped).toBe(false);
    old.release();
    during.release();
    await updated;
    expect(loader.inMemory).toEqual(['a@2']);
  });

  test('a new one that cannot be loaded leaves the old one serving', async () => {
    const { loader, registry } = setUp();
    await registry.update(versions('1'), new Map());
    (await registry.acquire('a', anybody)).release();
    loader.isHolding = true;
    const updated = registry.update(versions('2'), new Map());
    await loader.settle('a@2', 'broken');
    await updated;
    expect((await registry.acquire('a', anybody)).definition.version).toBe('1');
    expect(registry.list().map(({ version, state }) => [version, state])).toEqual([
      ['2', 'failed'],
      ['1', 'ready'],
    ]);
  });

  test('changed files are loaded anew under the same version', async () => {
    const { loader, registry } = setUp();
    await registry.update([modelDefinition('a', {}, { fingerprint: 'old' })], new Map());
    const old = await registry.acquire('a', anybody);
    await registry.update([modelDefinition('a', {}, { fingerprint: 'new' })], new Map());
    const renewed = await registry.acquire('a', anybody);
    expect(renewed.runtime.definition.fingerprint).toBe('new');
    expect(old.runtime.isStopped).toBe(false);
    old.release();
    await turn();
    expect(loader.inMemory).toEqual(['a@1']);
  });

  test('a model that is gone ends after its requests, and is unknown then', async () => {
    const { loader, registry } = setUp();
    await registry.update([modelDefinition('a'), modelDefinition('b')], new Map());
    const lease = await registry.acquire('a', anybody);
    const updated = registry.update([modelDefinition('b')], new Map());
    await turn();
    await expect(registry.acquire('a', anybody)).rejects.toThrow(UnknownModelError);
    expect(lease.runtime.isStopped).toBe(false);
    lease.release();
    await updated;
    expect(loader.inMemory).toEqual([]);
  });
});

describe('names', () => {
  test('an alias stands for its targets by weight, for the same user always for the same', async () => {
    const { registry } = setUp();
    const aliases = new Map([
      [
        'chat',
        new Map([
          ['a@1', 90],
          ['a@2', 10],
        ]),
      ],
    ]);
    const models = ['1', '2'].map((version) => modelDefinition('a', {}, { version }));
    await registry.update(models, aliases);
    const counts = { '1': 0, '2': 0 };
    for (let user = 0; user < 1000; user++) {
      const [first, second] = await Promise.all([
        registry.acquire('chat', anybody, `user ${user}`),
        registry.acquire('chat', anybody, `user ${user}`),
      ]);
      expect(first.definition.version).toBe(second.definition.version);
      counts[first.definition.version as '1' | '2']++;
    }
    expect(counts['2']).toBeGreaterThan(60);
    expect(counts['2']).toBeLessThan(140);
  });

  test('an unknown name comes with names like it', async () => {
    const { registry } = setUp();
    const names = ['summit', 'foothill', 'qwen3-embedding', 'llama-3', 'gemma-2', 'phi-4'];
    await registry.update(
      names.map((name) => modelDefinition(name)),
      new Map(),
    );
    const error: unknown = await registry.acquire('sumit', anybody).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(UnknownModelError);
    expect((error as UnknownModelError).near).toEqual(['summit']);
  });
});

describe('whatever comes, in whatever order', () => {
  const operation = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ type: fc.constant('acquire' as const), model: fc.nat(4) }),
    },
    { weight: 4, arbitrary: fc.record({ type: fc.constant('release' as const), at: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('unload' as const), model: fc.nat(4) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('leave' as const), at: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('change' as const), model: fc.nat(4) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('wait' as const) }) },
  );

  test('bounds hold, used models stay, and nobody waits for ever', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 60 }), async (operations) => {
        const { loader, registry } = setUp({ maxModels: 3, maxBytes: 50, maxWaiting: 100 });
        const fingerprints = [0, 0, 0, 0, 0];
        const definitions = () =>
          fingerprints.map((count, model) =>
            modelDefinition(`m${model}`, { bytes: 10 + model }, { fingerprint: String(count) }),
          );
        await registry.update(definitions(), new Map());
        const leases: Lease<FakeRuntime>[] = [];
        const callers: AbortController[] = [];
        const waiting: Promise<unknown>[] = [];
        const unsettled = new Set<number>();
        const check = () => {
          for (const { runtime } of leases) expect(runtime.isStopped).toBe(false);
          const live = loader.runtimes.filter(({ isStopped }) => !isStopped);
          const bytes = live.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
          expect(bytes).toBeLessThanOrEqual(50);
        };
        for (const step of operations) {
          if (step.type === 'acquire') {
            const caller = new AbortController();
            callers.push(caller);
            const id = callers.length;
            unsettled.add(id);
            const request = registry
              .acquire(`m${step.model}`, { client: '', signal: caller.signal })
              .then(
                (lease) => leases.push(lease),
                () => 0,
              )
              .finally(() => unsettled.delete(id));
            waiting.push(request);
          } else if (step.type === 'release') {
            leases.splice(step.at % Math.max(1, leases.length), 1)[0]?.release();
          } else if (step.type === 'leave') {
            callers[step.at % Math.max(1, callers.length)]?.abort(new Error('left'));
          } else if (step.type === 'unload') {
            waiting.push(registry.unload(`m${step.model}`));
          } else if (step.type === 'change') {
            fingerprints[step.model]!++;
            waiting.push(registry.update(definitions(), new Map()));
          } else {
            await turn();
          }
          check();
        }
        for (let tries = 0; tries < 200 && unsettled.size > 0; tries++) {
          for (const lease of leases.splice(0)) lease.release();
          await turn();
          check();
        }
        expect(unsettled.size).toBe(0);
        for (const lease of leases.splice(0)) lease.release();
        await Promise.all(waiting);
        await registry.close();
        expect(loader.inMemory).toEqual([]);
      }),
    );
  });
});
