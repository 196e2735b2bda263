import type { Command } from 'commander';
import { LIST_NAMES } from '../../core/lists.ts';
import type { Shell } from '../options.ts';
import { outlineOf, type Outlined, summaryOf } from './outline.ts';

/** A script that completes commands, options and their values in a shell. */
export function completionFor(shell: Shell, program: Command): string {
  const commands = outlineOf(program);
  const top = commands.filter(({ name }) => !name.includes(' '));
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](top, commands);
}

/** The words that may follow a command: subcommands, values of its arguments, options. */
function wordsOf({ name, args, options }: Outlined, all: readonly Outlined[]): string[] {
  const below = all
    .filter((one) => one.name.startsWith(`${name} `))
    .map((one) => one.name.split(' ')[1] ?? '');
  const values = args.flatMap((argument) =>
    argument.name() === 'lists' ? LIST_NAMES : (argument.argChoices ?? []),
  );
  return [...below, ...values, ...options.flatMap(({ long }) => (long == null ? [] : [long])), '--help'];
}

function bashScript(top: readonly Outlined[], all: readonly Outlined[]): string {
  const names = top.map(({ name }) => name).join(' ');
  const cases = all.map((one) => `    '${one.name}') words='${wordsOf(one, all).join(' ')}' ;;`);
  const values = choicesOf(all).map(([where, choices]) => `    '${where}') words='${choices.join(' ')}' ;;`);
  return `# bash completion of inbox-mirror. Load it with: source <(inbox-mirror completion bash)
_inbox_mirror() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  local command="\${COMP_WORDS[1]}" words=''
  local two="$command \${COMP_WORDS[2]}"
  case "$two" in ${subcommands(all).join('|')}) command="$two" ;; esac
  if [ "$COMP_CWORD" -eq 1 ]; then command=''; fi
  case "$command" in
    '') words='${names} --help --version' ;;
${cases.join('\n')}
  esac
  case "$command $before" in
${values.join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _inbox_mirror inbox-mirror
`;
}

function zshScript(top: readonly Outlined[], all: readonly Outlined[]): string {
  const described = top.map((one) => `    '${one.name}:${quoted(summaryOf(one)).replaceAll(':', '\\:')}'`);
  const cases = all.map((one) => `    '${one.name}') offered=(${wordsOf(one, all).join(' ')}) ;;`);
  const values = choicesOf(all).map(
    ([where, choices]) => `    '${where}') offered=(${choices.join(' ')}) ;;`,
  );
  return `#compdef inbox-mirror
# zsh completion of inbox-mirror. Load it with: source <(inbox-mirror completion zsh)
_inbox_mirror() {
  local -a commands offered
  commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command="$words[2]" before="$words[CURRENT-1]" third="$words[3]"
  case "$command $third" in ${subcommands(all).join('|')}) command="$command $third" ;; esac
  case "$command" in
${cases.join('\n')}
  esac
  case "$command $before" in
${values.join('\n')}
  esac
  compadd -a offered
  _files
}
compdef _inbox_mirror inbox-mirror
`;
}

function fishScript(top: readonly Outlined[], all: readonly Outlined[]): string {
  const lines = top.map(
    (one) =>
      `complete -c inbox-mirror -n __fish_use_subcommand -f -a ${one.name} -d '${quoted(summaryOf(one))}'`,
  );
  for (const one of all) {
    const seen = one.name.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
    const when = `-n '${seen.join('; and ')}'`;
    for (const word of wordsOf(one, all).filter((name) => !name.startsWith('--')))
      lines.push(`complete -c inbox-mirror ${when} -f -a ${word}`);
    for (const { long, description, required, argChoices } of one.options) {
      const value = argChoices === undefined ? (required ? '-r' : '') : `-x -a '${argChoices.join(' ')}'`;
      const name = (long ?? '').replace('--', '');
      lines.push(`complete -c inbox-mirror ${when} -l ${name} ${value} -d '${quoted(description)}'`);
    }
  }
  const head = '# fish completion of inbox-mirror. Load it with: inbox-mirror completion fish | source';
  return `${head}\n${lines.join('\n')}\n`;
}

/** The options whose values are known, each behind its command. `--format` has several sets. */
function choicesOf(all: readonly Outlined[]): [commandAndOption: string, choices: readonly string[]][] {
  return all.flatMap(({ name, options }) =>
    options.flatMap(({ long, argChoices }): [string, readonly string[]][] =>
      long != null && argChoices ? [[`${name} ${long}`, argChoices]] : [],
    ),
  );
}

function subcommands(all: readonly Outlined[]): string[] {
  return all.filter(({ name }) => name.includes(' ')).map(({ name }) => `'${name}'`);
}

/** A text between single quotes of a shell. */
function quoted(text: string): string {
  return text.replaceAll("'", '’');
}
