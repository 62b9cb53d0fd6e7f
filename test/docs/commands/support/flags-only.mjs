// Loaded before a program (node --import): it ends with 0 as soon as its command line has been read without
// an error, and does nothing of what that asks for.
import { readFileSync, realpathSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import util from 'node:util';

// `npx chairlift` runs a link to it.
const program = process.argv[1] === undefined ? '' : realpathSync(process.argv[1]);
if (program.endsWith(join('cli', 'main.js'))) await readCommandLine(process.argv.slice(2));

const { parseArgs } = util;
util.parseArgs = (config = {}) => {
  const result = parseArgs(config);
  // A script may read its first words by themselves.
  const isWhole = (config.args ?? process.argv).at(-1) === process.argv.at(-1);
  if (isWhole && config.strict !== false) process.exit(0);
  return result;
};
syncBuiltinESMExports();

// A script that reads no flags is there: that is all there is to check.
const isScript = program.startsWith(join(process.cwd(), 'scripts'));
if (isScript && !readFileSync(program, 'utf8').includes('parseArgs')) process.exit(0);

/** By the program's own modules, but for files that it names, which need not be there. */
async function readCommandLine([name = '--help', ...words]) {
  const folder = join(dirname(program), '..', 'settings');
  const load = (path) => import(pathToFileURL(join(folder, path)).href);
  const { findCommand } = await load('commands.js');
  const { readArguments } = await load('arguments.js');
  const { Settings } = await load('settings.js');
  if (name.startsWith('-')) return;
  const command = findCommand(name);
  if (command === null) throw new Error(`there is no command ${name}`);
  const { given, ...others } = readArguments(command, words);
  const flags = given.filter(({ option }) => option !== 'config');
  if (others.help === null) await Settings.open(command, { given: flags, ...others });
  process.exit(0);
}
