import { DEFAULT_ENDPOINTS, requestBody } from '../../bench/backend.ts';
import { Random } from '../../bench/random.ts';
import { askServer } from '../../bench/server-info.ts';
import { syntheticItems } from '../../bench/workload.ts';
import type { OptionOf } from '../../settings/commands.ts';
import { interruptible } from '../terminal/interruptible.ts';
import type { Options } from '../../settings/options.ts';
import { progressBar } from '../../serving/progress/progress-bar.ts';
import { type ServerAccess, serverAccess } from '../server/server-access.ts';
import { ServerClient } from '../server/server-client.ts';
import type { Settings } from '../../settings/settings.ts';
import { adviceOf } from './advice.ts';
import { breakDown } from './breakdown.ts';
import { profileText } from './report.ts';
import { type Sample, takeSample } from './sample.ts';

/** `chairlift profile`: where the time of a request goes, stage by stage. */
export async function profile({ options }: Settings<'profile'>): Promise<void> {
  const access = await serverAccess(options);
  const { json, requests, concurrency } = options;
  const samples: Sample[] = [];
  const print = () => {
    const breakdown = breakDown(samples);
    const advice = adviceOf(breakdown, concurrency);
    console.log(json ? JSON.stringify({ ...breakdown, advice }) : profileText(breakdown, advice));
  };
  const bar = progressBar('requests |{bar}| {value}/{total}');
  bar.start(requests, 0);
  const onSample = (sample: Sample) => {
    samples.push(sample);
    bar.increment();
  };
  await interruptible(
    () =>
      takeSamples(new ServerClient(access), access, options, onSample).finally(() => bar.stop()),
    () => {
      if (samples.length > 0) print();
      console.error(`chairlift: interrupted after ${samples.length} of ${requests} requests`);
    },
  );
  print();
}

async function takeSamples(
  client: ServerClient,
  { url, apiKey }: ServerAccess,
  shape: Options<OptionOf<'profile'>>,
  onSample: (sample: Sample) => void,
): Promise<void> {
  const { profileBackend: backend, requests, concurrency, inputLen, outputLen } = shape;
  const headers: Record<string, string> =
    apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
  const { model, maxModelLen } = await askServer(url, headers, shape.askedModel);
  const workload = {
    input: { kind: 'fixed', mean: inputLen, rangeRatio: 0 },
    output: { kind: 'fixed', mean: outputLen, rangeRatio: 0 },
    tokenIdLimit: null,
    maxModelLen,
  } as const;
  // The first of them finds no connection, and perhaps no model in memory: it does not count.
  const items = syntheticItems(workload, requests + 1, new Random(Date.now() % 2 ** 32));
  const bodies = items.map((item) =>
    requestBody(item, { backend, model, ignoreEos: true, temperature: 0, extra: {} }),
  );
  const path = DEFAULT_ENDPOINTS[backend].slice(1);
  const take = (body: object) => takeSample(client, path, body);
  for (const body of bodies.splice(0, 1)) await take(body);
  const worker = async (): Promise<void> => {
    for (let body = bodies.shift(); body !== undefined; body = bodies.shift()) {
      onSample(await take(body));
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, requests) }, worker));
}
