import type { CompletedCommand, CompletedFlag, CompletedValue } from './completed.ts';

/** For bash 4 and newer. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  const names = commands.flatMap((command) => command.names);
  const cases = commands.map(({ names: own, flags, operand }) =>
    [
      `    ${own.join('|')})`,
      `      flags='${flags.map(({ name }) => `--${name}`).join(' ')}'`,
      `      case "$before" in`,
      ...flags.flatMap(valueCase),
      `        *) kind=${kindOf(operand)} ;;`,
      '      esac ;;',
    ].join('\n'),
  );
  return `# Completion of chairlift for bash:
#   chairlift completion bash > ~/.local/share/bash-completion/completions/chairlift
_chairlift() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} flags='' kind=''
  # Bash takes --flag=value for three words.
  if [[ $word == '=' ]]; then word=''; elif [[ $before == '=' ]]; then before=\${COMP_WORDS[COMP_CWORD-2]}; fi
  COMPREPLY=()
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  if [[ $COMP_CWORD == 1 ]]; then kind='${names.join(' ')}'; fi
  if [[ $word == -* && $COMP_CWORD != 1 ]]; then kind=$flags; fi
  case "$kind" in
    @file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    @folder) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$kind" -- "$word") ;;
  esac
}
complete -F _chairlift chairlift`;
}

function valueCase({ name, short, value }: CompletedFlag): string[] {
  if (value === null) return [];
  const words = [`--${name}`, ...(short === null ? [] : [`-${short}`])];
  return [`        ${words.join('|')}) kind=${kindOf(value)} ;;`];
}

function kindOf(value: CompletedValue): string {
  switch (value.kind) {
    case 'words':
      return `'${value.words.join(' ')}'`;
    case 'file':
    case 'folder':
      return `@${value.kind}`;
    case 'any':
      return "''";
  }
}
