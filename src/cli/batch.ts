import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Presets, SingleBar } from 'cli-progress';
import { Command } from 'commander';
import { z } from 'zod';
import { requestsInEngine } from '../front/queue/admission.ts';
import { NEVER_ABORTED } from '../front/generation/never-aborted.ts';
import { LIMITS } from '../limits.ts';
import { parseInputLine } from '../server/batches/input-line.ts';
import { BatchResults } from '../server/batches/batch-results.ts';
import { LineIndex } from '../server/batches/line-file.ts';
import type { LineWork } from '../server/batches/line-work.ts';
import { BATCH_ENDPOINTS } from '../server/batches/line-runner.ts';
import { validateInput } from '../server/batches/validate-input.ts';
import { DEVICE_OPTIONS } from './device.ts';
import { offlineWork } from './offline-work.ts';
import { linesInFlight } from './open-batches.ts';
import { addOptions, ALL_OPTIONS, type OptionName, type Options, readOptions } from './options.ts';
import { UsageError } from './usage-error.ts';

const NAMES: readonly OptionName[] = [
  'model',
  ...DEVICE_OPTIONS,
  'precision',
  'kvCacheDtype',
  'kernels',
  'attention',
  'maxNumSeqs',
  'maxModelLen',
  'maxNumBatchedTokens',
  'kvCacheMemory',
  'prefixCaching',
  'threads',
  'randomWeights',
];

const ownOptions = z.object({ inputFile: z.string().min(1), outputFile: z.string().min(1) });

/** `chairlift batch`: the requests of a file, without a server. */
export function batchCommand(): Command {
  const command = new Command('batch')
    .description('run the requests of a file, without a server; the same command again goes on')
    .requiredOption('-i, --input-file <file>', 'requests: lines of /v1/batches')
    .requiredOption('-o, --output-file <file>', 'results, failed ones too');
  return addOptions(command, NAMES).action(() => batch(command));
}

async function batch(command: Command): Promise<void> {
  const { inputFile, outputFile } = ownOptions.parse(command.opts());
  // What it has no flags for is as `serve` has it.
  const others = addOptions(new Command(), ALL_OPTIONS).parse([], { from: 'user' });
  const options: Options = { ...readOptions(others), ...readOptions(command) };
  const endpoint = await endpointOf(inputFile);
  const input = await LineIndex.open(inputFile, LIMITS.batchLineBytes);
  const id = `batch_${await digestOf(inputFile)}`;
  const paths = { outputPath: outputFile, errorPath: outputFile, charge: () => {} };
  const results = await BatchResults.open(id, paths).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${outputFile}: ${reason}`, { cause: error });
  });
  const left = Array.from({ length: input.numLines }, (_, line) => line).filter(
    (line) => !results.isDone(line),
  );
  const bar = progressBar();
  const { work, stop } = await offlineWork(options);
  try {
    bar.start(input.numLines, input.numLines - left.length);
    const startedAt = performance.now();
    const lines = left.values();
    const lanes = linesInFlight(requestsInEngine(options.maxNumSeqs), 1);
    const run = () => runLines({ work, input, results, endpoint }, lines, () => bar.increment());
    await Promise.all(Array.from({ length: lanes }, run));
    bar.stop();
    const seconds = (performance.now() - startedAt) / 1000;
    const { completed, failed } = results.counts;
    const { outputTokens } = results.usage;
    console.error(
      `${completed} completed, ${failed} failed, ${outputTokens} tokens; ` +
        `${left.length} of them now, in ${seconds.toFixed(1)} s`,
    );
  } finally {
    bar.stop();
    await results.close();
    await input.close();
    await stop();
  }
}

interface Parts {
  readonly work: LineWork;
  readonly input: LineIndex;
  readonly results: BatchResults;
  readonly endpoint: string;
}

/** Several of these share the lines that are left. */
async function runLines(
  { work, input, results, endpoint }: Parts,
  lines: Iterable<number>,
  onDone: () => void,
): Promise<void> {
  for (const line of lines) {
    const parsed = parseInputLine(await input.read(line));
    const result = await work.run(parsed, endpoint, { client: '', signal: NEVER_ABORTED });
    await results.add(line, parsed.customId, result);
    onDone();
  }
}

/**
 * That of all lines.
 * @throws UsageError naming the first line that is wrong
 */
async function endpointOf(path: string): Promise<string> {
  const errors: string[] = [];
  for (const endpoint of BATCH_ENDPOINTS) {
    const { errors: found } = await validateInput(path, endpoint, NEVER_ABORTED);
    const [first] = found;
    if (first === undefined) return endpoint;
    errors.push(`${path}, line ${first.line ?? 1}: ${first.message}`);
  }
  throw new UsageError(errors[0] ?? `${path} can't be read`);
}

/** Says whether results are of this input. */
async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex').slice(0, 16);
}

function progressBar(): SingleBar {
  return new SingleBar(
    {
      format: 'requests |{bar}| {value}/{total}, {eta_formatted} left',
      // Without a terminal, a line now and then.
      noTTYOutput: true,
      notTTYSchedule: 5000,
      hideCursor: true,
    },
    Presets.shades_classic,
  );
}
