import type { CompletedCommand, CompletedFlag, CompletedValue } from './completed.ts';

export function zshCompletion(commands: readonly CompletedCommand[]): string {
  const described = commands.flatMap(({ names, summary }) =>
    names.map((name) => `    ${quoted(`${name}:${summary}`)}`),
  );
  const cases = commands.map(({ names, flags, operand }) => {
    const specs = [...flags.flatMap(specsOf), quoted(`*:argument:${action(operand)}`)];
    return [
      `    ${names.join('|')})`,
      '      _arguments -s \\',
      specs.map((spec) => `        ${spec}`).join(' \\\n'),
      '      ;;',
    ].join('\n');
  });
  return `#compdef chairlift
# Completion of chairlift for zsh, in a folder of $fpath:
#   chairlift completion zsh > ~/.zfunc/_chairlift
_chairlift() {
  local -a commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}
if [[ $funcstack[1] == _chairlift ]]; then _chairlift "$@"; else compdef _chairlift chairlift; fi`;
}

function specsOf({ name, short, meaning, value }: CompletedFlag): string[] {
  const text = `[${meaning.replaceAll(/[[\]\\]/g, '\\$&')}]`;
  const argument = value === null ? '' : `:${name}:${action(value)}`;
  const equals = value === null ? '' : '=';
  return [
    quoted(`*--${name}${equals}${text}${argument}`),
    ...(short === null ? [] : [quoted(`*-${short}${text}${argument}`)]),
  ];
}

function action(value: CompletedValue): string {
  switch (value.kind) {
    case 'words':
      return `(${value.words.join(' ')})`;
    case 'file':
      return '_files';
    case 'folder':
      return '_files -/';
    case 'any':
      return ' ';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
