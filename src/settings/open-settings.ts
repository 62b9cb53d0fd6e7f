/** From the words after a command's name to its settings, which the whole process then goes by. */
import type { CommandName } from './commands.ts';
import { keysOf } from './flag-sets.ts';
import { variablesOf } from './flags/flag-spec.ts';
import { FLAGS, specOf } from './options.ts';
import type { PlaceOptions } from './places.ts';
import { type Arguments, readArguments } from './arguments.ts';
import { Settings } from './settings.ts';

/** Variables of AWS's tools that are secrets. */
const AWS_SECRETS = [
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN',
] as const;

/** @throws UsageError */
export async function openSettings<C extends CommandName>(
  name: C,
  args: Arguments,
): Promise<Settings<C>> {
  const settings = await Settings.open(name, args);
  forgetSecrets();
  // Not a static import: commands that need no models do without what downloads them.
  const options: PlaceOptions = settings.options;
  if ('cacheDir' in options) await (await import('./places.ts')).usePlaces(options);
  // Only now: whoever reads buckets has a copy.
  for (const variable of AWS_SECRETS) delete process.env[variable];
  return settings;
}

/** Takes secrets out of the environment, which processes that this one starts inherit. */
function forgetSecrets(): void {
  for (const name of keysOf(FLAGS)) {
    const spec = specOf(name);
    if (spec.secret === undefined) continue;
    for (const variable of variablesOf(spec)) delete process.env[variable];
  }
}

/** Settings of `serve`, for callers that start a server without a command line. @throws UsageError */
export function serveSettings(words: readonly string[]): Promise<Settings<'serve'>> {
  return openSettings('serve', readArguments('serve', words));
}
