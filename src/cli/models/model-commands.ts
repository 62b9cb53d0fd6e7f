/** Commands about models on this machine: pull, list, show, rm. */
import { createInterface } from 'node:readline/promises';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { removeCachedModel } from '../../model/download/cached-models.ts';
import { cachedFolder } from '../../model/download/remote-model.ts';
import { isRemote, remoteOf } from '../../model/remotes/remotes.ts';
import { localModelFolder } from '../../serving/models/download-model.ts';
import { variantFor } from '../../serving/choices/export-variant.ts';
import { findModel, referenceOf } from '../../serving/models/find-model.ts';
import { interruptible, sayHowToGoOn } from '../terminal/interruptible.ts';
import { localModels } from '../../serving/models/local-models.ts';
import type { Settings } from '../../settings/settings.ts';
import { describeModel } from './show-model.ts';
import { formatBytes, formatTime, table } from '../terminal/text-format.ts';
import { UserError } from '../../user-error.ts';
import { UsageError } from '../../settings/usage-error.ts';

/** `chairlift pull`: downloads a model ahead of its first use. */
export async function pull({ operands, options }: Settings<'pull'>): Promise<void> {
  const [model = ''] = operands;
  const reference = requireReference(model);
  const folder = await interruptible(
    () => localModelFolder(reference, variantFor(options)),
    () => sayHowToGoOn('what was downloaded is kept'),
  );
  console.log(folder);
}

/** `chairlift list`: what could be served. */
export async function list({ options }: Settings<'list'>): Promise<void> {
  const models = await localModels(options.modelRepository);
  const rows = models.map(({ name, place, bytes, modifiedAt }) => [
    name,
    place,
    formatBytes(bytes),
    `${formatTime(Date.now() - modifiedAt.getTime())} ago`,
  ]);
  console.log(table(['NAME', 'FROM', 'SIZE', 'MODIFIED'], rows));
}

/** `chairlift show`: what a model is. */
export async function show({ operands, options }: Settings<'show'>): Promise<void> {
  const [model = ''] = operands;
  const { source } = await findModel(model, options.modelRepository);
  if (!isRemote(source)) return console.log(await describeModel(source));
  const folder = await cachedFolder(remoteOf(source), defaultCacheDirectory());
  if (folder !== null) return console.log(await describeModel(folder));
  throw new UserError(
    `${model} has not been downloaded; \`chairlift pull ${source}\` downloads it`,
  );
}

/** `chairlift rm`: removes what was downloaded. */
export async function rm({ operands, options: { yes } }: Settings<'rm'>): Promise<void> {
  const [model = ''] = operands;
  const remote = remoteOf(requireReference(model));
  const { id } = remote;
  const cache = defaultCacheDirectory();
  const models = await localModels(undefined);
  const found = models.find(({ name, place }) => name === id && place === 'downloaded');
  if (found === undefined) throw new UserError(`${id} has not been downloaded`);
  const what = `${id} (${formatBytes(found.bytes)})`;
  if (!yes && !(await confirm(`remove ${what} from ${cache}?`))) {
    throw new UserError(`${id} was kept`);
  }
  await removeCachedModel(remote, cache);
  console.log(`removed ${what}`);
}

function requireReference(model: string): string {
  const reference = referenceOf(model);
  if (reference !== null) return reference;
  throw new UsageError(`${model} is no model of the hub or of a bucket: expected owner/name or s3://bucket/prefix`);
}

async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new UserError('cannot ask without a terminal; use --yes');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
