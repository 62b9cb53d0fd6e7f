/** Commands about models on this machine: pull, list, show, rm. */
import { createInterface } from 'node:readline/promises';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { removeCachedModel } from '../../model/hub/hub-cache.ts';
import { cachedFolder } from '../../model/hub/hub-model.ts';
import { isHubReference, parseHubReference } from '../../model/hub/hub-repository.ts';
import { localModelFolder } from '../../serving/models/download-model.ts';
import { variantFor } from '../../serving/choices/export-variant.ts';
import { findModel, hubReferenceOf } from '../../serving/models/find-model.ts';
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
  const reference = requireHubModel(model);
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
  if (!isHubReference(source)) return console.log(await describeModel(source));
  const folder = await cachedFolder(parseHubReference(source), defaultCacheDirectory());
  if (folder !== null) return console.log(await describeModel(folder));
  throw new UserError(
    `${model} has not been downloaded; \`chairlift pull ${source}\` downloads it`,
  );
}

/** `chairlift rm`: removes what was downloaded. */
export async function rm({ operands, options: { yes } }: Settings<'rm'>): Promise<void> {
  const [model = ''] = operands;
  const { id } = parseHubReference(requireHubModel(model));
  const cache = defaultCacheDirectory();
  const models = await localModels(undefined);
  const found = models.find(({ name, place }) => name === id && place === 'downloaded');
  if (found === undefined) throw new UserError(`${id} has not been downloaded`);
  const what = `${id} (${formatBytes(found.bytes)})`;
  if (!yes && !(await confirm(`remove ${what} from ${cache}?`))) {
    throw new UserError(`${id} was kept`);
  }
  await removeCachedModel(id, cache);
  console.log(`removed ${what}`);
}

function requireHubModel(model: string): string {
  const reference = hubReferenceOf(model);
  if (reference !== null) return reference;
  throw new UsageError(`${model} is no model on the hub: expected owner/name`);
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
