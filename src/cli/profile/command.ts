import { Command, Option } from 'commander';
import { z } from 'zod';
import { BACKENDS, DEFAULT_ENDPOINTS, requestBody } from '../../bench/backend.ts';
import { Random } from '../../bench/random.ts';
import { askServer } from '../../bench/server-info.ts';
import { syntheticItems } from '../../bench/workload.ts';
import { addClientFlags, readClientFlags } from '../flags/client-flags.ts';
import { ServerClient } from '../server-client.ts';
import { UsageError } from '../usage-error.ts';
import { adviceOf } from './advice.ts';
import { breakDown } from './breakdown.ts';
import { profileText } from './report.ts';
import { type Sample, takeSample } from './sample.ts';

const options = z.object({
  model: z.string().optional(),
  backend: z.enum(BACKENDS),
  requests: z.coerce.number().pipe(z.int().min(1).max(10_000)),
  concurrency: z.coerce.number().pipe(z.int().min(1).max(1000)),
  inputLen: z.coerce.number().pipe(z.int().min(1)),
  outputLen: z.coerce.number().pipe(z.int().min(1)),
  json: z.boolean().optional(),
});

/** `chairlift profile`: where the time of a request goes, stage by stage. */
export function profileCommand(): Command {
  const command = new Command('profile')
    .description('send a few requests to a server, and show where their time goes')
    .argument('[url]', 'the server to ask; the same as --url')
    .option('--model <name>', 'which of its models (default: the first)')
    .addOption(
      new Option('--backend <api>', 'which API to ask').choices(BACKENDS).default('openai-chat'),
    )
    .option('--requests <n>', 'how many to send', '8')
    .option('--concurrency <n>', 'how many at once', '1')
    .option('--input-len <words>', 'length of prompts', '128')
    .option('--output-len <tokens>', 'length of answers', '64')
    .option('--json', 'as JSON');
  return addClientFlags(command).action(async (url?: string) => {
    const parsed = options.safeParse(command.opts());
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new UsageError(`--${issue?.path.join('.')}: ${issue?.message}`);
    }
    const access = readClientFlags(command, url);
    const samples = await takeSamples(new ServerClient(access), access, parsed.data);
    const breakdown = breakDown(samples);
    const advice = adviceOf(breakdown, parsed.data.concurrency);
    const { json = false } = parsed.data;
    console.log(json ? JSON.stringify({ ...breakdown, advice }) : profileText(breakdown, advice));
  });
}

async function takeSamples(
  client: ServerClient,
  { url, apiKey }: ReturnType<typeof readClientFlags>,
  shape: z.infer<typeof options>,
): Promise<Sample[]> {
  const { backend, requests, concurrency, inputLen, outputLen } = shape;
  const headers: Record<string, string> =
    apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
  const { model, maxModelLen } = await askServer(url, headers, shape.model);
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
  const samples: Sample[] = [];
  const worker = async (): Promise<void> => {
    for (let body = bodies.shift(); body !== undefined; body = bodies.shift()) {
      samples.push(await take(body));
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, requests) }, worker));
  return samples;
}
