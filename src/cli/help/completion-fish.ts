import type { CompletedCommand, CompletedFlag, CompletedValue } from './completed.ts';

export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const names = commands.flatMap((command) => command.names);
  const lines = commands.flatMap((command) => {
    const seen = `-n '__fish_seen_subcommand_from ${command.names.join(' ')}'`;
    const { operand } = command;
    return [
      ...command.names.map(
        (name) =>
          `complete -c chairlift -f -n "not __fish_seen_subcommand_from $chairlift_commands" -a ${name} -d ${quoted(command.summary)}`,
      ),
      ...command.flags.map((flag) => `complete -c chairlift ${seen} ${flagWords(flag)}`),
      ...(operand.kind === 'words'
        ? [`complete -c chairlift -f ${seen} -a ${quoted(operand.words.join(' '))}`]
        : []),
    ];
  });
  return [
    '# Completion of chairlift for fish:',
    '#   chairlift completion fish > ~/.config/fish/completions/chairlift.fish',
    `set -l chairlift_commands ${names.join(' ')}`,
    ...lines,
  ].join('\n');
}

function flagWords({ name, short, meaning, value }: CompletedFlag): string {
  const letter = short === null ? '' : ` -s ${short}`;
  return `-l ${name}${letter}${value === null ? '' : ` ${valueWords(value)}`} -d ${quoted(meaning)}`;
}

function valueWords(value: CompletedValue): string {
  switch (value.kind) {
    case 'words':
      return `-x -a ${quoted(value.words.join(' '))}`;
    case 'file':
      return '-r -F';
    case 'folder':
      return "-x -a '(__fish_complete_directories)'";
    case 'any':
      return '-x';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}
