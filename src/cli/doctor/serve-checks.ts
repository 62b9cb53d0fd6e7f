/**
 * Checks of a server that would be started here: its settings, its models, and the hub that they come
 * from.
 */
import { ConnectionError, head } from '../../net/get.ts';
import { hubAccess } from '../../model/hub/hub-repository.ts';
import { createLogger } from '../../observability/logger.ts';
import { errorLine } from '../terminal/error-line.ts';
import { readArguments } from '../../settings/arguments.ts';
import { Settings } from '../../settings/settings.ts';
import { broken, type Check, ok, warning } from './check.ts';

/** A hub that is there answers within a fraction of it. */
const HUB_MS = 5000;

/** @param model null for those of the environment and the file */
export async function serveSettings(
  model: string | null,
  config: string | undefined,
): Promise<{ readonly check: Check; readonly settings: Settings<'serve'> | null }> {
  const name = 'settings';
  const words = [
    ...(config === undefined ? [] : ['--config', config]),
    ...(model === null ? [] : ['--', model]),
  ];
  const from = config === undefined ? 'the environment' : `the environment and ${config}`;
  try {
    const settings = await Settings.open('serve', readArguments('serve', words));
    return { check: ok(name, `\`serve\` takes those of ${from}`), settings };
  } catch (error) {
    const advice = 'mend it; `chairlift serve --help-all` has all flags';
    return { check: broken(name, reasonOf(error), advice), settings: null };
  }
}

/** One for each model that the settings name; none where they name none. */
export async function modelChecks({ options }: Settings<'serve'>): Promise<Check[]> {
  if (options.models === undefined && options.modelRepository === undefined) return [];
  const advice =
    '`chairlift show` says what a model is, docs/models-and-precision.md what is served';
  // Not static imports: they bring native libraries, which other checks may find broken.
  const { checkModel } = await import('../serve/check.ts');
  const { servedModels, servedNames } = await import('../../serving/server/served-models.ts');
  const { servedLora } = await import('../../serving/plan/lora.ts');
  try {
    const served = await servedModels(options, createLogger('silent'));
    const { definitions } = served;
    const lora = servedLora(options, servedNames(options, served));
    const checks: Check[] = [];
    for (const definition of definitions) {
      const name = `model ${definition.name}`;
      try {
        const { description } = await checkModel(definition, options, definitions.length, lora);
        checks.push(ok(name, description));
      } catch (error) {
        checks.push(broken(name, reasonOf(error), advice));
      }
    }
    return checks;
  } catch (error) {
    return [broken('model', reasonOf(error), advice)];
  }
}

/** Asks for nothing but an answer. */
export async function hubCheck(isOffline: boolean, env = process.env): Promise<Check> {
  const name = 'hub';
  if (isOffline) return ok(name, 'not asked (--offline)');
  const advice =
    'downloads fail: set HTTPS_PROXY, HF_ENDPOINT for a mirror, or --offline for models that are here';
  try {
    const { endpoint } = hubAccess(env);
    try {
      const status = await head(new URL(endpoint), HUB_MS);
      return ok(name, `${endpoint} answers (${status})`);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      return warning(name, `${endpoint} cannot be reached: ${error.message}`, advice);
    }
  } catch (error) {
    return broken(name, reasonOf(error), 'HF_ENDPOINT sets the address of another hub');
  }
}

/** In one line. @throws what is no failure of the user's */
function reasonOf(error: unknown): string {
  const line = errorLine(error);
  if (line === null) throw error;
  return line.replaceAll('\n', '; ');
}
