/** From the words of a command line to the command that they name. */
import { alikeNames } from '../front/registry/near-names.ts';
import { type CommandName, COMMANDS, commandSpec, findCommand } from '../settings/commands.ts';
import { commandHelp, programHelp } from './help/help.ts';
import { openSettings } from '../settings/open-settings.ts';
import { type Arguments, readArguments } from '../settings/arguments.ts';
import type { Settings } from '../settings/settings.ts';
import { UsageError } from '../settings/usage-error.ts';
import { packageVersion } from '../serving/version.ts';
import { told } from '../told.ts';

type Run = (args: Arguments) => Promise<void>;

/** Not static imports: what a command does not need is not read. */
const RUN: Readonly<Record<CommandName, Run>> = {
  serve: (args) => runServe(args),
  run: command('run', async () => (await import('./chat/run.ts')).run),
  pull: command('pull', async () => (await import('./models/model-commands.ts')).pull),
  list: command('list', async () => (await import('./models/model-commands.ts')).list),
  show: command('show', async () => (await import('./models/model-commands.ts')).show),
  fit: command('fit', async () => (await import('./models/fit.ts')).fit),
  rm: command('rm', async () => (await import('./models/model-commands.ts')).rm),
  ps: command('ps', async () => (await import('./server/server-commands.ts')).ps),
  stop: command('stop', async () => (await import('./server/server-commands.ts')).stop),
  generate: command('generate', async () => (await import('./offline/generate.ts')).generate),
  batch: command('batch', async () => (await import('./offline/batch.ts')).batch),
  build: command('build', async () => (await import('./build/build.ts')).build),
  bench: command('bench', async () => (await import('./bench/bench.ts')).bench),
  profile: command('profile', async () => (await import('./profile/command.ts')).profile),
  eval: command('eval', async () => (await import('./offline/eval.ts')).evaluate),
  'distill-data': command(
    'distill-data',
    async () => (await import('./offline/distill-data.ts')).distillData,
  ),
  optimize: command('optimize', async () => (await import('./offline/optimize.ts')).optimize),
  doctor: command('doctor', async () => (await import('./doctor/command.ts')).doctor),
  // Without notes on other settings: it runs every few seconds.
  probe: async (args) => {
    const settings = await openSettings('probe', args);
    await (await import('./server/probe.ts')).probe(settings);
  },
  completion: command('completion', async () => (await import('./help/completion.ts')).completion),
};

/** @throws UsageError, and what the command throws */
export async function runCommandLine(words: readonly string[]): Promise<void> {
  const [first = '--help', ...rest] = words;
  if (first === '-V' || first === '--version') return console.log(await packageVersion());
  if (/^(-h|--help(=all)?|--help-all|help)$/.test(first)) return printHelp(first, rest);
  const name = findCommand(first);
  if (name === null) throw unknownCommand(first);
  const args = readArguments(name, rest);
  if (args.help !== null) console.log(commandHelp(name, args.help));
  else await RUN[name](args);
}

async function runServe(args: Arguments): Promise<void> {
  const settings = await openSettings('serve', args);
  // By itself: an import opens the files of all modules that are as deep at once, and there may be 256 descriptors.
  await import('../serving/loading/text-model-loader.ts');
  if (settings.options.check) await (await import('./serve/check.ts')).check(settings);
  else await (await import('./serve/serve.ts')).serve(settings);
}

function command<C extends CommandName>(
  name: C,
  load: () => Promise<(settings: Settings<C>) => Promise<void>>,
): Run {
  return async (args) => {
    const settings = await openSettings(name, args);
    for (const note of settings.notes) console.error(`chairlift: ${note}`);
    await (
      await load()
    )(settings);
  };
}

function printHelp(flag: string, [word]: readonly string[]): void {
  const name = word === undefined ? null : findCommand(word);
  if (word !== undefined && name === null) throw unknownCommand(word);
  const size = flag.endsWith('all') ? 'all' : 'basic';
  console.log(name === null ? programHelp() : commandHelp(name, size));
}

function unknownCommand(name: string): UsageError {
  const names = Object.keys(COMMANDS).flatMap((each) => [
    each,
    commandSpec(each as CommandName).alias ?? each,
  ]);
  const near = alikeNames(name, [...new Set(names)]).slice(0, 3);
  const hint =
    near.length > 0 ? `did you mean ${near.join(' or ')}?` : '`chairlift --help` lists them';
  return new UsageError(`there is no command ${told(name, 100)}; ${hint}`);
}
