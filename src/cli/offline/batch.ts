import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { requestsInEngine } from '../../front/queue/admission.ts';
import { NEVER_ABORTED } from '../../front/never-aborted.ts';
import { LIMITS } from '../../limits.ts';
import { parseInputLine } from '../../server/batches/input-line.ts';
import { BatchResults } from '../../server/batches/batch-results.ts';
import { LineIndex } from '../../server/batches/line-file.ts';
import type { LineCaller, LineWork } from '../../server/batches/line-work.ts';
import { BATCH_ENDPOINTS } from '../../server/batches/line-answers.ts';
import { validateInput } from '../../server/batches/validate-input.ts';
import { offlineWork } from './offline-work.ts';
import { linesInFlight } from '../../serving/server/open-batches.ts';
import { interruptible, sayHowToGoOn } from '../terminal/interruptible.ts';
import { progressBar } from '../../serving/progress/progress-bar.ts';
import type { Settings } from '../../settings/settings.ts';
import { UserError } from '../../user-error.ts';
import { naming } from '../../files/named-files.ts';

/** `chairlift batch`: the requests of a file, without a server. */
export async function batch({ options }: Settings<'batch'>): Promise<void> {
  const { inputFile, outputFile } = options;
  const endpoint = await naming('--input-file', inputFile, () => endpointOf(inputFile));
  const input = await LineIndex.open(inputFile, LIMITS.batchLineBytes);
  const id = `batch_${await digestOf(inputFile)}`;
  const paths = { outputPath: outputFile, errorPath: outputFile, charge: () => {} };
  const results = await naming('--output-file', outputFile, async () => {
    await requireResults(outputFile);
    return BatchResults.open(id, paths);
  });
  const left = Array.from({ length: input.numLines }, (_, line) => line).filter(
    (line) => !results.isDone(line),
  );
  const bar = progressBar('requests |{bar}| {value}/{total}, {eta_formatted} left');
  const { work, stop } = await offlineWork(options);
  try {
    bar.start(input.numLines, input.numLines - left.length);
    const startedAt = performance.now();
    const lines = left.values();
    const lanes = linesInFlight(requestsInEngine(options.maxNumSeqs), 1);
    const run = () =>
      naming('--output-file', outputFile, () =>
        runLines({ work, input, results, endpoint }, lines, () => bar.increment()),
      );
    await interruptible(
      () => Promise.all(Array.from({ length: lanes }, run)),
      async () => {
        // With what is being written.
        await results.close();
        const { completed, failed } = results.counts;
        sayHowToGoOn(`${outputFile} has ${completed + failed} of ${input.numLines} results`);
      },
    );
    bar.stop();
    const seconds = (performance.now() - startedAt) / 1000;
    const { completed, failed } = results.counts;
    const { outputTokens } = results.usage;
    console.error(
      `${completed} completed, ${failed} failed, ${outputTokens} tokens; ` +
        `${left.length} of them in this run, in ${seconds.toFixed(1)} s`,
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

/** There are no other clients to make way for. */
const ALONE: LineCaller = { client: '', signal: NEVER_ABORTED, pause: (wait) => wait() };

/** Several of these share the lines that are left. */
async function runLines(
  { work, input, results, endpoint }: Parts,
  lines: Iterable<number>,
  onDone: () => void,
): Promise<void> {
  for (const line of lines) {
    const parsed = parseInputLine(await input.read(line));
    const result = await work.run(parsed, endpoint, ALONE);
    await results.add(line, parsed.customId, result);
    onDone();
  }
}

/**
 * Finds the endpoint that all lines name.
 * @throws UserError naming the first line that is wrong
 */
async function endpointOf(path: string): Promise<string> {
  const errors: string[] = [];
  for (const endpoint of BATCH_ENDPOINTS) {
    const { errors: found } = await validateInput(path, endpoint, NEVER_ABORTED);
    const [first] = found;
    if (first === undefined) return endpoint;
    const where = first.line === null ? '' : `, line ${first.line}`;
    errors.push(`${path}${where}: ${first.message}`);
  }
  throw new UserError(`--input-file ${errors[0] ?? path}`);
}

/** How a result begins. */
const RESULT_START = '{"id":"batch_req_';

/**
 * Refuses a file that does not begin with a result. A half-written line at the end of a file of results
 * is cut off, and no other file may lose its text.
 * @throws UserError
 */
async function requireResults(path: string): Promise<void> {
  const file = await open(path, 'a+');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(RESULT_START.length), 0, null, 0);
    const start = buffer.toString('utf8', 0, bytesRead);
    if (RESULT_START.startsWith(start)) return;
    throw new UserError(
      `--output-file ${path}: it holds something other than results of a batch; name another file`,
    );
  } finally {
    await file.close();
  }
}

/** Says whether results are of this input. */
async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex').slice(0, 16);
}
